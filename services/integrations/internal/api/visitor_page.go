package api

import (
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/gin-gonic/gin"
)

// textPage says one thing.
const textPage = `<p class="text">{{.}}</p>`

// formPage is the form of one kind.
const formPage = `<p class="text">Messages from {{.Dashboard}} can go to a URL of yours. First we send a link to the management address. Messages start after you verify the URL with this link.</p>
<form class="card" method="post">
<h2>{{.Channel}}</h2>
{{template "field" .URL}}{{template "field" .ManagementEmail}}{{template "boxes" .Components}}<p><button class="btn" type="submit">Subscribe</button></p>
</form>`

// suppressedNote is part of the pages about an endpoint.
const suppressedNote = `{{if .Suppressed}}<p class="problem" role="alert">Messages to this URL are stopped, because the receiver failed too often. The operator of the dashboard can resume them.</p>
{{end}}`

const verifyPage = `<p class="text">Somebody asked to send the messages from {{.DashboardName}} to {{.URLDisplay}} ({{.Kind.Channel}}), about these components:</p>
` + suppressedNote + `<form class="card" method="post">
<ul>{{range .Components}}{{if .Chosen}}<li><bdi>{{.Name}}</bdi></li>{{end}}{{end}}</ul>
<p><button class="btn" type="submit">Verify</button></p>
</form>`

const secretNote = `{{if .Secret}}<p class="text">The messages are signed as Standard Webhooks describes. This is the secret. Only this page shows it:</p>
<p class="card"><code>{{.Secret}}</code></p>
{{end}}`

const verifiedPage = `<p class="text" role="status">Messages from {{.DashboardName}} now go to {{.URLDisplay}}.</p>
` + suppressedNote + secretNote + `<p><a class="btn" href="manage?token={{.Manage}}">Manage the endpoint</a></p>`

const managePage = `{{with .Note}}<p class="text note" role="status">{{.}}</p>
{{end}}<p class="text">Messages from {{.DashboardName}} go to {{.URLDisplay}} ({{.Kind.Channel}}).</p>
` + suppressedNote + secretNote + `<form class="card" method="post">
{{template "boxes" .Boxes}}<p><label><input type="checkbox" name="paused" value="on"{{if .Paused}} checked{{end}}> Paused</label></p>
<p><button class="btn" type="submit" name="action" value="save">Save</button></p>
</form>
{{if .Kind.Signed}}<form method="post"><p><button class="btn" type="submit" name="action" value="rotate">Replace the secret</button></p></form>
{{end}}<form method="post"><p><button class="btn" type="submit" name="action" value="unsubscribe">Remove the endpoint</button></p></form>`

const unsubscribePage = `<p class="text">Messages from {{.DashboardName}} go to {{.URLDisplay}} ({{.Kind.Channel}}).</p>
<form method="post"><p><button class="btn" type="submit">Remove the endpoint</button></p></form>
<p><a href="manage?token={{.Manage}}">Manage the endpoint instead</a></p>`

func show(c *gin.Context, status int, body, title string, view any) error {
	return page.Show(c, status, page.Head{Title: title, Lang: "en"}, body, view)
}
