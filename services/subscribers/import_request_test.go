package subscribers_test

import (
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// A visitor's request that nobody has confirmed does not keep away a subscriber whose confirmation the former page proves. It stays if
// the row proves none, if the subscriber is locked, and if the owner has left here.
func TestAnImportReplacesARequestThatNobodyConfirmed(t *testing.T) {
	p := start(t)
	o := p.organization()
	v := p.offer(o, p.listen(topic.Notices))
	want := map[string]string{}
	var rows []object
	row := func(name, state, status string) {
		address := name + "@example.com"
		rows = append(rows, object{"email": address, "state": state, "componentIds": []string{o.services[1].ID}, "locale": "de"})
		want[address] = status
	}
	row("asked", "confirmed", "created")
	row("unproven", "unconfirmed", "updated")
	row("confirmed", "confirmed", "updated")
	row("locked", "confirmed", "updated")
	row("left", "confirmed", "updated")
	v.confirmed("left@example.com", o.services[0].ID)
	if status, page, _ := p.visit(http.MethodPost, p.resolve(o, p.mail(o, o.dashboard, "left@example.com").ID)[0].Unsubscribe, "List-Unsubscribe=One-Click"); status != http.StatusOK {
		t.Fatal(page)
	}
	v.confirmed("confirmed@example.com", o.services[0].ID)
	for _, name := range []string{"asked", "unproven", "locked", "left"} {
		v.ask(topic.Email, name+"@example.com", o.services[0].ID)
	}
	p.app(o, http.StatusOK, http.MethodPatch, "email/"+p.mail(o, o.dashboard, "locked@example.com").ID, object{"locked": true})
	p.equal("a dry run", p.imported(o, o.dashboard, object{"dryRun": true}, rows...), want)
	p.equal("the import", p.imported(o, o.dashboard, nil, rows...), want)
	asked := p.mail(o, o.dashboard, "asked@example.com")
	if !asked.Confirmed || asked.Source != "import" || asked.Locale != "de" || asked.CreatedAt != asked.UpdatedAt {
		t.Errorf("the one who asked: %+v", asked)
	}
	p.equal("components", asked.ComponentIDs, []string{o.services[1].ID})
	p.equal("the unproven one", p.mail(o, o.dashboard, "unproven@example.com").Confirmed, false)
	p.equal("the one who confirmed", p.mail(o, o.dashboard, "confirmed@example.com").Source, "public")
	want["asked@example.com"] = "updated"
	p.equal("the import again", p.imported(o, o.dashboard, nil, rows...), want)
	p.app(o, http.StatusNoContent, http.MethodDelete, "email/"+asked.ID+"?undo=true", nil)
}
