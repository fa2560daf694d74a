package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/gin-gonic/gin"
)

// addressOf returns the address of a dashboard from the path parameters slug and host.
func addressOf(c *gin.Context) edition.Address {
	return edition.Address{Slug: c.Param("slug"), Host: strings.ToLower(c.Param("host"))}
}

// pathOf returns the path in the dashboard's URL, without a final slash.
func pathOf(at edition.Address) string {
	if at.Slug == "" {
		return ""
	}
	return "/d/" + url.PathEscape(at.Slug)
}

func (a api) publicEdition(c *gin.Context) error {
	page, err := a.editions.Public(c.Request.Context(), addressOf(c))
	if err != nil {
		return err
	}
	access := page.Access
	body, err := json.Marshal(peer.Edition{
		ID: page.EditionID, Number: page.Edition, DashboardID: page.DashboardID,
		Access: peer.Access{Mode: string(access.Mode), AllowedIPs: append([]string{}, access.AllowedIPs...), Password: access.Password, FeedKey: access.FeedKey},
		List:   page.List,
		Files:  peer.FilesAtOnce(), Aliases: page.Aliases,
	})
	if err != nil {
		return err
	}
	return send(c, "application/json", "", etag.Of(body), body)
}

// editionFile responds with a file of an edition. The value of Accept-Encoding must be one content coding. If the file
// does not have this coding, or if the value is any other text, the file is sent uncompressed.
func (a api) editionFile(c *gin.Context) error {
	name := strings.TrimPrefix(c.Param("name"), "/")
	file, err := a.editions.EditionFile(c.Request.Context(), c.Param("edition"), name)
	if err != nil {
		return err
	}
	asked := strings.TrimSpace(c.GetHeader("Accept-Encoding"))
	coding, there := file.In(asked)
	if !there {
		asked = "identity"
		if coding, there = file.In(asked); !there {
			return fault.New(fault.Internal, "The file %q lacks the coding %s.", name, asked)
		}
	}
	header := c.Writer.Header()
	header.Set("Vary", "Accept-Encoding")
	if file.Policy != "" {
		header.Set("Content-Security-Policy", file.Policy)
	}
	return send(c, file.Media, asked, coding.ETag, coding.Body)
}

// send responds with body, or with 304 if If-None-Match contains tag.
func send(c *gin.Context, media, coding, tag string, body []byte) error {
	header := c.Writer.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "no-cache")
	if etag.Match(c.Request.Header.Values("If-None-Match"), tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	header.Set("Content-Type", media)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if coding != "" && coding != "identity" {
		header.Set("Content-Encoding", coding)
	}
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow()
		return nil
	}
	_, _ = c.Writer.Write(body) // fails only if the client has disconnected
	return nil
}

const maxEntry = 4 << 10 // maximum size of the password form, in bytes

// enter handles POST {dashboard_url}/enter. For the right password it sets a cookie and responds 303 to the page. For a
// wrong password it responds 403, and after too many wrong passwords 429. These two responses have no body, because the
// form is a file of the edition.
func (a api) enter(c *gin.Context) error {
	c.Header("Cache-Control", "private, no-store")
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxEntry)
	if err := c.Request.ParseForm(); err != nil {
		return fault.Wrap(fault.Invalid, err, "Send the form with the field password.")
	}
	at := addressOf(c)
	path := pathOf(at) + "/"
	page, err := a.editions.Enter(c.Request.Context(), at, web.Caller(c).IP, c.Request.PostForm.Get("password"))
	var many fault.Throttled
	switch {
	case errors.As(err, &many):
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(many.Wait.Seconds()))))
		c.Status(http.StatusTooManyRequests)
	case fault.Is(err, fault.Forbidden):
		c.Status(http.StatusForbidden)
	case err != nil:
		return err
	default:
		http.SetCookie(c.Writer, &http.Cookie{
			Name: peer.PasswordCookie, Path: path, MaxAge: int(peer.PasswordLife.Seconds()),
			Value:    a.Entries.Issue(peer.PasswordTicketOwner(page.DashboardID, page.Access.Password), peer.PasswordLife),
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: slices.Contains(c.Request.Header.Values("X-Forwarded-Proto"), "https"),
		})
		c.Header("Location", path)
		c.Status(http.StatusSeeOther)
	}
	c.Writer.WriteHeaderNow()
	return nil
}
