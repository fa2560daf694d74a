package api

import (
	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/gin-gonic/gin"
)

// textPage says one thing.
const textPage = `<p class="text">{{.}}</p>`

// formPage is the form of one kind.
const formPage = `<p class="text">{{printf .W.Intro .Dashboard}}</p>
<form class="card" method="post">
<h2>{{.Channel}}</h2>
{{template "field" .URL}}{{template "field" .ManagementEmail}}{{template "boxes" .Components}}<p><button class="btn" type="submit">{{.W.SubscribeButton}}</button></p>
</form>`

// suppressedNote is part of the pages about an endpoint.
const suppressedNote = `{{if .Suppressed}}{{template "problem" .W.Suppressed}}{{end}}`

const verifyPage = `<p class="text">{{printf .W.ConfirmIntro .Receiver .DashboardName}}</p>
` + suppressedNote + `<form class="card" method="post">
<ul>{{range .Components}}{{if .Chosen}}<li><bdi>{{.Name}}</bdi></li>{{end}}{{end}}</ul>
<p><button class="btn" type="submit">{{.W.VerifyButton}}</button></p>
</form>`

const secretNote = `{{if .Secret}}<p class="text">{{.W.Secret}}</p>
<p class="card"><code>{{.Secret}}</code></p>
{{end}}`

const verifiedPage = `<p class="text" role="status">{{printf .W.ConfirmedText .DashboardName .URLDisplay}}</p>
` + suppressedNote + secretNote + `<p><a class="btn" href="manage?token={{.Manage}}">{{.W.Manage}}</a></p>`

const managePage = `{{with .Note}}<p class="text note" role="status">{{.}}</p>
{{end}}{{template "problem" .Problem}}<p class="text">{{printf .W.ManageIntro .DashboardName .Receiver}}</p>
` + suppressedNote + secretNote + `<form class="card" method="post">
{{template "boxes" .Boxes}}<p><label><input type="checkbox" name="paused" value="on"{{if .Paused}} checked{{end}}> {{.W.Paused}}</label></p>
<p><button class="btn" type="submit" name="action" value="save">{{.W.Save}}</button></p>
</form>
{{if .Kind.Signed}}<form method="post"><p><button class="btn" type="submit" name="action" value="rotate">{{.W.Rotate}}</button></p></form>
{{end}}<form method="post"><p><button class="btn" type="submit" name="action" value="unsubscribe">{{.W.Remove}}</button></p></form>`

const unsubscribePage = `<p class="text">{{printf .W.ManageIntro .DashboardName .Receiver}}</p>
<form method="post"><p><button class="btn" type="submit">{{.W.Remove}}</button></p></form>
<p><a href="manage?token={{.Manage}}">{{.W.ManageInstead}}</a></p>`

// show responds with a page in the language of the words.
func show(c *gin.Context, status int, body, title string, w words, view any) error {
	return page.Show(c, status, page.Head{Title: title, Lang: w.Lang}, body, view)
}
