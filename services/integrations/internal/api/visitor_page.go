package api

// formPage is the form of one kind.
const formPage = `<p class="text">{{t "endpoint.intro" "dashboard" .Dashboard}}</p>
<form class="card" method="post">
<h2>{{.Channel}}</h2>
{{template "field" .URL}}{{template "field" .ManagementEmail}}{{template "boxes" .Components}}<p><button class="btn" type="submit">{{t "link.subscribe"}}</button></p>
</form>`

const verifyPage = `<p class="text">{{t "link.confirm" "receiver" .Receiver "dashboard" .DashboardName}}</p>
{{template "suppressed" .Suppressed}}<form class="card" method="post">
<ul>{{range .Components}}{{if .Chosen}}<li><bdi>{{.Name}}</bdi></li>{{end}}{{end}}</ul>
<p><button class="btn" type="submit">{{t "endpoint.verify_button"}}</button></p>
</form>`

const secretNote = `{{if .Secret}}<p class="text">{{t "endpoint.secret"}}</p>
<p class="card"><code>{{.Secret}}</code></p>
{{end}}`

const verifiedPage = `<p class="text" role="status">{{t "link.confirmed" "dashboard" .DashboardName "receiver" .URLDisplay}}</p>
{{template "suppressed" .Suppressed}}` + secretNote + `<p><a class="btn" href="manage?token={{.Manage}}">{{t "endpoint.manage"}}</a></p>`

const managePage = `{{with .Note}}<p class="text note" role="status">{{.}}</p>
{{end}}{{template "problem" .Problem}}<p class="text">{{t "link.manage" "dashboard" .DashboardName "receiver" .Receiver}}</p>
{{template "suppressed" .Suppressed}}` + secretNote + `<form class="card" method="post">
{{template "boxes" .Boxes}}<p><label><input type="checkbox" name="paused" value="on"{{if .Paused}} checked{{end}}> {{t "link.paused"}}</label></p>
<p><button class="btn" type="submit" name="action" value="save">{{t "link.save"}}</button></p>
</form>
{{if .Kind.Signed}}<form method="post"><p><button class="btn" type="submit" name="action" value="rotate">{{t "endpoint.rotate"}}</button></p></form>
{{end}}<form method="post"><p><button class="btn" type="submit" name="action" value="unsubscribe">{{t "endpoint.remove"}}</button></p></form>`

const unsubscribePage = `<p class="text">{{t "link.manage" "dashboard" .DashboardName "receiver" .Receiver}}</p>
<form method="post"><p><button class="btn" type="submit">{{t "endpoint.remove"}}</button></p></form>
<p><a href="manage?token={{.Manage}}">{{t "endpoint.manage_instead"}}</a></p>`
