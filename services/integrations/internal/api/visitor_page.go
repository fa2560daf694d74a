package api

import (
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/gin-gonic/gin"
)

type textView struct{ Text string }

// textPage says one thing.
const textPage = `<p>{{.Text}}</p>`

// formPage is the form of one kind.
const formPage = `<p>Messages from {{.Dashboard}} can go to a URL of yours. First we send a link to the management address. Messages start after you verify the URL with this link.</p>
{{if .Error}}<p role="alert">{{.Error}}</p>{{end}}
<form method="post">
<h2>{{.Channel}}</h2>
<p><label>URL <input type="url" name="url" required maxlength="2048" value="{{.URL}}"{{if .Example}} placeholder="{{.Example}}"{{end}}></label></p>
<p><label>Management address <input type="email" name="managementEmail" required maxlength="254" value="{{.ManagementEmail}}"></label></p>
<fieldset><legend>Components (none selected: all)</legend>
{{range .Components}}<p><label><input type="checkbox" name="componentIds" value="{{.ID}}"{{if .Chosen}} checked{{end}}> {{.Name}}</label></p>
{{end}}</fieldset>
<p><button type="submit">Subscribe</button></p>
</form>
`

// suppressedNote is part of the pages about an endpoint.
const suppressedNote = `{{if .Suppressed}}<p role="alert">Messages to this URL are stopped, because the receiver failed too often. The operator of the dashboard can resume them.</p>
{{end}}`

const verifyPage = `<p>Somebody asked to send the messages from {{.DashboardName}} to {{.URLDisplay}} ({{.Kind.Channel}}), about these components:</p>
<ul>{{range .Components}}{{if .Chosen}}<li>{{.Name}}</li>{{end}}{{end}}</ul>
` + suppressedNote + `<form method="post"><button type="submit">Verify</button></form>`

const secretNote = `{{if .Secret}}<p>The messages are signed as Standard Webhooks describes. This is the secret. Only this page shows it:</p>
<p><code>{{.Secret}}</code></p>
{{end}}`

const verifiedPage = `<p>Messages from {{.DashboardName}} now go to {{.URLDisplay}}.</p>
` + suppressedNote + secretNote + `<p><a href="manage?token={{.Manage}}">Manage the endpoint</a></p>`

const managePage = `{{if .Note}}<p role="status">{{.Note}}</p>
{{end}}<p>Messages from {{.DashboardName}} go to {{.URLDisplay}} ({{.Kind.Channel}}).</p>
` + suppressedNote + secretNote + `<form method="post">
<fieldset><legend>Components</legend>
{{range .Components}}<p><label><input type="checkbox" name="componentIds" value="{{.ID}}"{{if .Chosen}} checked{{end}}> {{.Name}}</label></p>
{{end}}</fieldset>
<p><label><input type="checkbox" name="paused" value="on"{{if .Paused}} checked{{end}}> Paused</label></p>
<p><button type="submit" name="action" value="save">Save</button></p>
{{if .Kind.Signed}}<p><button type="submit" name="action" value="rotate">Replace the secret</button></p>
{{end}}<p><button type="submit" name="action" value="unsubscribe">Remove the endpoint</button></p>
</form>`

const unsubscribePage = `<p>Messages from {{.DashboardName}} go to {{.URLDisplay}} ({{.Kind.Channel}}).</p>
<form method="post"><button type="submit">Remove the endpoint</button></form>
<p><a href="manage?token={{.Manage}}">Manage the endpoint instead</a></p>`

func (a *API) show(c *gin.Context, status int, body, title string, view any) error {
	parsed, err := page.Parse(body)
	if err != nil {
		return err
	}
	return page.Show(c, status, parsed, page.Head{Title: title, Lang: "en"}, view)
}
