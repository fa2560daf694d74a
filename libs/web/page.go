package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/gin-gonic/gin"
)

// Page sizes of the App interface (specification, "List (GET) query parameters").
const (
	defaultLimit = 10
	maxLimit     = 100
)

// Pages reads and writes the page parameters of App lists. A token contains a position only. It
// is signed for one organization and one path.
type Pages struct{ key []byte }

// NewPages returns Pages whose key is derived from the platform's secret.
func NewPages(secret string) Pages { return Pages{seal.Key(secret, "page")} }

// Asked returns the limit of the request and the position in its nextToken, after which the page starts.
func (p Pages) Asked(c *gin.Context) (limit int, after string, err error) {
	limit = defaultLimit
	if text, given := c.GetQuery("limit"); given {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return 0, "", fault.Field("limit", "must be a whole number from 1 to %d", maxLimit)
		}
	}
	token, given := c.GetQuery("nextToken")
	if !given {
		return limit, "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], p.sign(c, raw[sha256.Size:])) {
		return 0, "", fault.Field("nextToken", "must be a token of this list")
	}
	return limit, string(raw[sha256.Size:]), nil
}

// Token returns the nextToken of a response from the position after its last row. It returns
// nil, which is null in JSON, if no row follows.
func (p Pages) Token(c *gin.Context, next string) *string {
	if next == "" {
		return nil
	}
	token := base64.RawURLEncoding.EncodeToString(append(p.sign(c, []byte(next)), next...))
	return &token
}

func (p Pages) sign(c *gin.Context, position []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	for _, part := range []string{Caller(c).Organization, c.Request.URL.Path} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	mac.Write(position)
	return mac.Sum(nil)
}
