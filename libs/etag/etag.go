// Package etag computes and compares the ETags of responses, as RFC 9110 defines them.
package etag

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Of returns a strong ETag for a response body. Equal bodies have equal tags.
func Of(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// Match reports whether one of the values of an If-None-Match header names tag, so that
// the response is 304. Match uses the weak comparison that RFC 9110, section 13.1.2,
// requires for this header: a prefix W/ is ignored. The value * names every tag.
func Match(ifNoneMatch []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, value := range ifNoneMatch {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
