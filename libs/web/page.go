package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Pages creates and checks the page tokens of App lists. A token contains only a position. It is signed for one
// organization and one path.
type Pages struct{ key []byte }

// NewPages returns the Pages with a key derived from the platform's secret.
func NewPages(secret string) Pages { return Pages{seal.Key(secret, "page")} }

// Paging are the query parameters of an App list with pages. The parameters of its operation are Paging or embed it.
type Paging struct {
	Limit     int     `query:"limit" minimum:"1" maximum:"100" default:"10" description:"The most records of a page."`
	NextToken *string `query:"nextToken" description:"The nextToken of the previous page, unchanged, with the other parameters of that request."`
}

// List identifies the list that a page token is valid for, by its organization and path.
type List string

func listOf(c *gin.Context) List {
	return List(Caller(c).Organization + "\x00" + c.Request.URL.Path + "\x00")
}

// Position returns the position after which the requested page begins. It is empty for the first page.
func (p Pages) Position(list List, paging Paging) (string, error) {
	if paging.NextToken == nil {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(*paging.NextToken)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], p.sign(list, raw[sha256.Size:])) {
		return "", fault.Field("nextToken", "must be a nextToken of this list, unchanged")
	}
	return string(raw[sha256.Size:]), nil
}

// Listed returns the views of the items that read returns, and the nextToken.
func Listed[T, V any](p Pages, list List, paging Paging, read func(limit int, after string) (find.Page[T], error), view func(T) V) ([]V, *string, error) {
	after, err := p.Position(list, paging)
	if err != nil {
		return nil, nil, err
	}
	page, err := read(paging.Limit, after)
	return find.Values(page.Items, view), p.Token(list, page.Next), err
}

// Token returns the nextToken for the position of a page's last record. It returns nil (null in JSON) if no record
// follows.
func (p Pages) Token(list List, position string) *string {
	if position == "" {
		return nil
	}
	token := base64.RawURLEncoding.EncodeToString(append(p.sign(list, []byte(position)), position...))
	return &token
}

func (p Pages) sign(list List, position []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(list))
	mac.Write(position)
	return mac.Sum(nil)
}
