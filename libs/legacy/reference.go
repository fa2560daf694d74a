package legacy

import (
	"encoding/json"
	"net/url"
	"strings"
)

// parseURI returns the integer id in a resource_uri of the resource, with or without the last slash. The resource_uri may
// be an absolute URL of any host, because behind proxies a server does not know all of its names.
func parseURI(resource, text string) (int64, bool) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		absolute, err := url.Parse(text)
		if err != nil || absolute.Host == "" {
			return 0, false
		}
		text = absolute.Path
	}
	path, known := ParsePath(text)
	return path.ID, known && path.Place == AtDetail && path.Resource == resource
}

// parseMember returns the id in the first of resource_uri, id and pk that the object has. given reports whether there is
// such a member that is not null, ok whether the member refers to the resource.
func parseMember(resource string, object map[string]any) (id int64, given, ok bool) {
	for _, member := range [...]string{"resource_uri", "id", "pk"} {
		switch value := object[member].(type) {
		case nil:
			continue
		case string:
			if id, ok = parseID(value); !ok || member == "resource_uri" {
				id, ok = parseURI(resource, value)
			}
			return id, true, ok
		case json.Number:
			id, ok = parseID(value.String())
			return id, true, ok && member != "resource_uri"
		default:
			return 0, true, false
		}
	}
	return 0, false, false
}
