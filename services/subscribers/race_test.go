//go:build race

package subscribers_test

// importRows is the number of rows of a large import. The race detector makes SQLite ten times slower.
const importRows = 200
