package web

// Public declares an operation of the public interface, which needs no key: a page or a form in a browser, or a call
// of a program. The document and the gateway's route follow from the declaration. The service adds the route to its
// engine itself, because each of these operations reads and writes media types of its own.
type Public struct {
	Method, Path string // as the client sends them; {name} is one path parameter
	ID, Tag      string // operationId, and the group in the document
	Summary      string
	Description  string
	Parameters   any // a struct whose fields have the tag path, query or header; nil: none
	Bodies       []Content
	BodyOptional bool // a request without a body is also valid
	// Token: the header Authorization can have a token, which the gateway forwards for this operation only.
	Token     bool
	Responses []Response
	// Errors are the statuses whose responses are {"error": "..."} in JSON, in addition to 405.
	Errors []int
}

// Content is a body of one media type. Of is a value of the body's type: a struct for JSON and forms, a string for
// text, nil for an error in JSON. A request may have several Contents with the same media type, and its body must
// match one of them.
type Content struct {
	Media   string
	Of      any
	Example string // JSON for a struct
	Open    bool   // a request body may have members that Of does not declare
}

// Response is a documented response. Headers name ETag, Location or Retry-After.
type Response struct {
	Status      int
	Description string
	Headers     []string
	Contents    []Content
}

// Conditional is the parameter of an operation whose response has an ETag.
type Conditional struct {
	IfNoneMatch *string `header:"If-None-Match" description:"The ETag of the response that the client has."`
}

// NotModified describes the response to a client whose cached response is current.
func NotModified() Response {
	return Response{Status: 304, Description: "The client has the current response. No body.", Headers: []string{"ETag"}}
}
