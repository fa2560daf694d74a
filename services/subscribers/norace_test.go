//go:build !race

package subscribers_test

// importRows is the number of rows of a large import: the most there may be.
const importRows = 1000
