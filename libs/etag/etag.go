// Package etag computes and compares the ETags of responses, as RFC 9110 defines them.
package etag

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Of returns a strong ETag for a response body. Equal bodies have equal tags.
func Of(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// Version returns a record's version number as a strong ETag.
func Version(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// Allows reports whether the values of an If-Match header contain tag or *, so that the write may proceed. As RFC 9110,
// section 13.1.1, requires, it uses the strong comparison, in which a weak tag never matches.
func Allows(ifMatch []string, tag string) bool {
	return names(ifMatch, func(candidate string) bool { return candidate == "*" || candidate == tag })
}

// Match reports whether the values of an If-None-Match header contain tag or *, so that the response is 304. As RFC
// 9110, section 13.1.2, requires, it uses the weak comparison, which ignores a prefix W/.
func Match(ifNoneMatch []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	return names(ifNoneMatch, func(candidate string) bool {
		return candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag
	})
}

// names reports whether match returns true for a member of one of the comma-separated lists.
func names(lists []string, match func(string) bool) bool {
	for _, list := range lists {
		for candidate := range strings.SplitSeq(list, ",") {
			if match(strings.TrimSpace(candidate)) {
				return true
			}
		}
	}
	return false
}
