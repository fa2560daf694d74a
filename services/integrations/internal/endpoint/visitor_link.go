package endpoint

import "github.com/bellbuoy/bellbuoy/libs/link"

// The purposes of links.
const (
	ToVerify      = "verify"
	ToManage      = "manage"
	ToUnsubscribe = "unsubscribe"
)

// LinkPath is the path with which the links in mail about endpoints begin.
const LinkPath = "/public/endpoints/"

// Links creates and checks the links in mail about endpoints.
type Links = link.Links[Endpoint]

// NewLinks returns Links that begin with the URL base and are signed with the key.
func NewLinks(key []byte, base string) Links {
	return Links{
		Key: key, Base: base, Path: LinkPath, Medium: "mail", ID: func(e Endpoint) string { return e.ID },
		State: func(purpose string, e Endpoint) []string {
			state := []string{e.URLHash, e.ManagementEmail}
			if purpose == ToVerify && e.Request != nil {
				state = append(state, e.Request.ID)
			}
			return state
		},
	}
}
