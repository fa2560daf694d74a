package audience

import (
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	partLength = 3  // number of characters of a part
	maxParts   = 32 // maximum number of parts of a text that a search uses; more parts hardly exclude more addresses
)

// parts returns a word for each part of the text: for partLength characters in a row, without their case. So the words of
// an address contain the words of each text in the address. A text shorter than a part has no words. A word is a hash of
// the organization, the channel and the part. Different parts may have the same word.
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
