// Package coding chooses the content coding of a response.
package coding

import (
	"strconv"
	"strings"
)

// The content codings in which files are sent.
const (
	Brotli = "br"
	Gzip   = "gzip"
	Plain  = "identity"
)

// For returns the best content coding for the values of an Accept-Encoding header (RFC 9110, 12.5.3). This is the
// coding with the highest weight. Among codings with the same weight, it is the one with the smallest files. If no
// coding is acceptable, For returns Plain, which every client can read.
func For(accept []string) string {
	weights := map[string]float64{}
	for _, list := range accept {
		switch list { // the values that browsers send
		case "gzip, deflate, br", "gzip, deflate, br, zstd":
			return Brotli
		}
		for member := range strings.SplitSeq(list, ",") {
			name, parameters, _ := strings.Cut(member, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name == "x-gzip" { // an alias of gzip (RFC 9110, 8.4.1.3)
				name = Gzip
			}
			weights[name] = weight(parameters)
		}
	}
	best, highest := Plain, weights[Plain]
	for _, name := range []string{Gzip, Brotli} {
		of, named := weights[name]
		if !named {
			of = weights["*"]
		}
		if of > 0 && of >= highest {
			best, highest = name, of
		}
	}
	return best
}

// weight returns the value of the parameter q. It returns 1 if there is none, and 0 if the value is invalid.
func weight(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
