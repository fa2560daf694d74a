package link

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

const recordID = "01890a5d-ac96-774b-bcce-b302099a8060"

// linksTo returns links to a record that is its state.
func linksTo(key string) Links[string] {
	return Links[string]{
		Key: []byte(key), Base: "https://status.example.com/", Path: "/public/", Medium: "mail",
		ID: func(string) string { return recordID }, State: func(_, state string) []string { return []string{"1", state} },
	}
}

// open follows a link to a record with the state.
func (l Links[R]) open(purpose, token string, stored R, check error) error {
	_, _, err := l.Open(context.Background(), purpose, token, func(_ context.Context, id string) (R, error) {
		if id != recordID {
			return stored, fault.New(fault.NotFound, "%s", id)
		}
		return stored, nil
	}, func(R) error { return check })
	return err
}

func TestATokenIsOfOnePurposeRecordAndState(t *testing.T) {
	l := linksTo("key")
	token := l.Token("manage", "a")
	refused := errors.New("refused")
	if err := l.open("manage", token, "a", nil); err != nil {
		t.Error(err)
	}
	if err := l.open("manage", token, "a", refused); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := l.open("manage", token, "b", nil); !fault.Is(err, fault.Gone) {
		t.Errorf("for another state: %v", err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(token)
	for i := range raw {
		changed := append([]byte{}, raw...)
		changed[i] ^= 1
		if err := l.open("manage", base64.RawURLEncoding.EncodeToString(changed), "a", nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("a token with another byte %d: %v", i, err)
		}
	}
	for purpose, wrong := range map[string]string{"confirm": token, "manage": token + "=", "unsubscribe": "", "": "???"} {
		if err := l.open(purpose, wrong, "a", nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q is read as a token to %q: %v", wrong, purpose, err)
		}
	}
	if err := linksTo("other").open("manage", token, "a", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a token of another key: %v", err)
	}
	if got := l.URL("manage", "a"); got != "https://status.example.com/public/manage?token="+token {
		t.Error(got)
	}
}

func TestALinkEndsWithItsRecord(t *testing.T) {
	l := linksTo("key")
	_, _, err := l.Open(t.Context(), "manage", l.Token("manage", "a"), func(context.Context, string) (string, error) {
		return "", fault.New(fault.NotFound, "no record")
	}, nil)
	if !fault.Is(err, fault.Gone) {
		t.Error(err)
	}
}

func TestACodeHasSixDigitsAndFollowsFromTheText(t *testing.T) {
	l := linksTo("key")
	if one, again, other := l.Code("a"), l.Code("a"), l.Code("b"); len(one) != 6 || one != again || one == other {
		t.Error(one, again, other)
	}
}
