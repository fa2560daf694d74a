package legacy

// MaxName is the maximum length of the fields service_name and group of the legacy resource "service", in characters.
const MaxName = 50

// ShortName returns the first MaxName characters of a name. The App interface allows longer names.
func ShortName(name string) string {
	count := 0
	for i := range name {
		if count == MaxName {
			return name[:i]
		}
		count++
	}
	return name
}

// AssignName sets *name to *sent, the name in a body, unless *sent is the ShortName of *name. So a client that sends back
// the short name that it has read does not shorten the stored name. If sent is nil, AssignName changes nothing.
func AssignName(name, sent *string) {
	if sent != nil && *sent != ShortName(*name) {
		*name = *sent
	}
}
