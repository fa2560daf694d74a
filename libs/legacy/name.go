package legacy

// MaxName is the maximum length of the name of a service and of its group, in characters.
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

// AssignName sets a name to what a body has, unless that is the ShortName of the name. So a client that sends back what
// it has read does not cut the name. A nil sent changes nothing.
func AssignName(name, sent *string) {
	if sent != nil && *sent != ShortName(*name) {
		*name = *sent
	}
}
