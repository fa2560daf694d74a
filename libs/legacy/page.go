package legacy

// Meta is the head of a list's envelope.
type Meta struct {
	Limit      int64   `json:"limit"`
	Next       *string `json:"next"`
	Offset     int64   `json:"offset"`
	Previous   *string `json:"previous"`
	TotalCount int64   `json:"total_count"`
}

// Envelope is a list's answer. Objects must not be nil.
type Envelope struct {
	Meta    Meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// Page is the slice of a list that a request asks for.
type Page struct {
	Limit  int64
	Offset int64
}
