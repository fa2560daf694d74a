package peer

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// An alias of a dashboard is a path that the gateway redirects to a present path of the dashboard. An example is the address
// that an incident had on the page from which the dashboard was imported. Aliases and present paths begin and end without a
// slash.

// MaxAlias is the maximum length of an alias in bytes.
const MaxAlias = 200

// incidentsFolder is the only folder that may contain aliases although the gateway serves other paths in it: it redirects
// incidents/{id}, if {id} is a UUID and the path is no alias, to the page of an event.
const incidentsFolder = "incidents"

// FormerAddresses returns the present path for below if below is a path that every page has on Statuspage: uptime, or a path
// in the folder subscriptions. It returns "" for any other path.
func FormerAddresses(below string) string {
	switch folder, _, in := strings.Cut(below, "/"); {
	case below == "uptime":
		return "history"
	case folder == "subscriptions" && in:
		return "subscribe"
	}
	return ""
}

// CheckAlias returns an Invalid fault for field unless path can be an alias.
func CheckAlias(field, path string) error {
	if !isAlias(path) {
		return fault.Field(field, "must be a path of 1 to %d characters of A-Z, a-z, 0-9, . _ / and -, without .., and without a slash at its start or end", MaxAlias)
	}
	folder, _, _ := strings.Cut(path, "/")
	if path == incidentsFolder || folder != incidentsFolder && slices.Contains(ownFolders(), folder) {
		return fault.Field(field, "must not be an address that each dashboard has: nothing below %s/ can be an alias", folder)
	}
	return nil
}

func isAlias(path string) bool {
	return len(path) >= 1 && len(path) <= MaxAlias && !strings.Contains(path, "..") && path[0] != '/' && path[len(path)-1] != '/' &&
		strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == ""
}

// ownFolders returns the first segments of the paths that each dashboard has, and of the paths for which FormerAddresses
// returns a present path.
func ownFolders() []string {
	folders := []string{"api", "enter", "uptime", "subscriptions"}
	for _, file := range DashboardFiles() {
		folder, _, _ := strings.Cut(strings.TrimPrefix(file.Path, "/"), "/")
		folders = append(folders, folder)
	}
	return folders
}

// AliasTarget returns the present path of the file with this DashboardFile.Path. It returns false if there is no such
// file, or if the path has a parameter.
func AliasTarget(file string) (present string, ok bool) {
	return strings.TrimPrefix(file, "/"), slices.ContainsFunc(DashboardFiles(), func(f DashboardFile) bool { return f.Path == file && !f.HasParameter() })
}

// AliasTable contains the aliases of a dashboard in sorted order. Each line has an alias, a space and the present path. The
// table is one text, because a gateway caches many aliases: 100,000 aliases of 30 bytes take 8 MB.
type AliasTable []byte

// MaxAliasTable is the maximum size of an AliasTable, in bytes.
const MaxAliasTable = 32 << 20

// Add appends an alias, which must follow all aliases of the table.
func (t AliasTable) Add(path, present string) AliasTable {
	return append(append(append(append(t, path...), ' '), present...), '\n')
}

// Find returns the present path of an alias. below is the alias, with or without a final slash. Find returns false if the
// table does not have the alias.
func (t AliasTable) Find(below string) (present string, ok bool) {
	path := strings.TrimSuffix(below, "/")
	if !isAlias(path) {
		return "", false
	}
	for rest := []byte(t); len(rest) > 0; {
		start := bytes.LastIndexByte(rest[:len(rest)/2], '\n') + 1
		end := start + bytes.IndexByte(rest[start:], '\n')
		if end < start {
			return "", false // not a table
		}
		alias, target, _ := strings.Cut(string(rest[start:end]), " ")
		switch strings.Compare(path, alias) {
		case 0:
			return target, true
		case -1:
			rest = rest[:start]
		default:
			rest = rest[end+1:]
		}
	}
	return "", false
}
