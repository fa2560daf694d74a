package peer

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Edition is the current edition of a dashboard, as the events service returns it to the gateway. A change of the
// access changes it too.
type Edition struct {
	ID          string `json:"id"`
	Number      int64  `json:"number"`
	DashboardID string `json:"dashboardId"`
	Access      Access `json:"access"`
	// List names the state of the legacy list: two lists of a dashboard are the same if ListHeader of both is the same.
	// If it is empty, the gateway asks for each list.
	List string `json:"list"`
	// Files are the names of the files that exist from the start of the edition. Others are rendered at their first
	// request. A name is the path below the dashboard's address; that of the page is empty.
	Files []string `json:"files"`
}

// ListHeader is the header in which the events service returns Edition.List with a legacy list. The gateway does not
// pass it on.
const ListHeader = "Bellbuoy-List"

// The modes of Access.
const (
	AccessPublic   = "public"
	AccessPassword = "password"
	AccessIPs      = "ipAllowlist"
)

// Frame is the design of a dashboard around the pages that other services render. The parts are complete HTML: the title
// of a page is between Before and Between, its main element is between Between and After.
type Frame struct {
	Before  string `json:"before"`
	Between string `json:"between"`
	After   string `json:"after"`
	Policy  string `json:"policy"` // Content-Security-Policy
	Lang    string `json:"lang"`   // locale of the dashboard, BCP 47
}

// Access is what the gateway needs to decide who gets the files of an edition.
type Access struct {
	Mode       string   `json:"mode"`
	AllowedIPs []string `json:"allowedIps"` // CIDRs
	// Password stands for the password of the page. It is another one for each password, and is not derived from the
	// password. Empty: the mode is another one.
	Password string `json:"password"`
	// FeedKey opens the feeds of a private page as the query parameter "key". Empty: the page is public.
	FeedKey string `json:"feedKey"`
}

// PasswordCookie is the name of the cookie of a visitor who knows the password of a page. It is valid for PasswordLife.
const (
	PasswordCookie = "bellbuoy_entry"
	PasswordLife   = 30 * 24 * time.Hour
)

// PasswordTickets returns the tickets that are the values of PasswordCookie.
func PasswordTickets(secret string, now func() time.Time) seal.Tickets {
	return seal.NewTickets(secret, "entry to a page", now)
}

// PasswordTicketOwner returns the owner of the tickets of a dashboard with Access.Password.
func PasswordTicketOwner(dashboardID, password string) string { return dashboardID + "/" + password }
