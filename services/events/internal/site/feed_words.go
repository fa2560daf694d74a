package site

// wording returns our word for a key in the dashboard's locale.
type wording func(key string) string
