package audience

import (
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	partLength = 3  // number of characters of a part
	maxParts   = 32 // number of parts of a searched text that are used; more hardly exclude more addresses
)

// parts returns a word for each part of the text: for partLength characters in a row, without their case. So the words of
// an address contain the words of each text in it. A shorter text has none. The words of organizations and channels
// differ, because a word is a hash of all three. Different parts may have the same word.
func parts(organization string, channel topic.Channel, text string) []string {
	const offset, prime = 14695981039346656037, 1099511628211 // constants of the hash FNV-1a
	scope := uint64(offset)
	for _, b := range []byte(organization + "/" + string(channel)) {
		scope = (scope ^ uint64(b)) * prime
	}
	characters := []rune(find.Fold(text))
	var words []string
	for i := range max(0, len(characters)-partLength+1) {
		hash := scope
		for _, r := range characters[i : i+partLength] {
			hash = (hash ^ uint64(r)) * prime
		}
		words = append(words, strconv.FormatUint(hash>>40, 36))
	}
	return words
}
