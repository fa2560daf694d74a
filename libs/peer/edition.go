package peer

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Edition is the current edition of a dashboard, as the events service returns it to the gateway. A change of the
// dashboard's access also creates a new edition.
type Edition struct {
	ID          string `json:"id"`
	Number      int64  `json:"number"`
	DashboardID string `json:"dashboardId"`
	Access      Access `json:"access"`
	// List identifies the current state of the legacy list. A cached list is current if its header ListHeader had
	// this value. If List is empty, the gateway requests the list each time.
	List string `json:"list"`
	// Files are the names of the files that exist from the start of the edition. Other files are rendered at their
	// first request. The name of a file is its path below the dashboard's address. The name of the page is empty.
	Files []string `json:"files"`
	// Aliases is the version of the dashboard's AliasTable. 0: the dashboard never had an alias.
	Aliases int64 `json:"aliases,omitempty"`
}

// ListHeader is the response header in which the events service sends the value of Edition.List with a legacy list.
// The gateway does not forward the header.
const ListHeader = "Bellbuoy-List"

// The modes of Access.
const (
	AccessPublic   = "public"
	AccessPassword = "password"
	AccessIPs      = "ipAllowlist"
)

// Frame is the HTML of a dashboard around a page that another service renders. The title of the page goes between
// Before and Between, and its main element between Between and After.
type Frame struct {
	Before  string `json:"before"`
	Between string `json:"between"`
	After   string `json:"after"`
	Policy  string `json:"policy"` // Content-Security-Policy
	Lang    string `json:"lang"`   // locale of the dashboard, BCP 47
}

// Access contains the data with which the gateway decides who gets the files of an edition.
type Access struct {
	Mode       string   `json:"mode"`
	AllowedIPs []string `json:"allowedIps"` // CIDRs
	// Password identifies the current password of the page. It changes with each new password, and is not derived
	// from the password. It is empty unless Mode is AccessPassword.
	Password string `json:"password"`
	// FeedKey opens the feeds and the calendar of a private page as the query parameter "key". Empty: the page is public.
	FeedKey string `json:"feedKey"`
}

// PasswordCookie is the name of the cookie of a visitor who has entered the password of a page. The cookie is valid
// for PasswordLife.
const (
	PasswordCookie = "bellbuoy_entry"
	PasswordLife   = 30 * 24 * time.Hour
)

// PasswordTickets returns the Tickets that issue and check the values of PasswordCookie.
func PasswordTickets(secret string, now func() time.Time) seal.Tickets {
	return seal.NewTickets(secret, "entry to a page", now)
}

// PasswordTicketOwner returns the owner of the tickets for a dashboard. password is Access.Password of the dashboard.
func PasswordTicketOwner(dashboardID, password string) string { return dashboardID + "/" + password }
