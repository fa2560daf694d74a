package sheet

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// Text returns the text of a file. It decodes a file that begins with a byte order mark of UTF-16, as Excel writes
// “Unicode text”. It returns any other file unchanged.
func Text(file string) string {
	var order binary.ByteOrder = binary.LittleEndian
	if strings.HasPrefix(file, "\xfe\xff") {
		order = binary.BigEndian
	} else if !strings.HasPrefix(file, "\xff\xfe") {
		return file
	}
	units := make([]uint16, len(file)/2)
	for i := range units {
		units[i] = order.Uint16([]byte(file[2*i : 2*i+2]))
	}
	return string(utf16.Decode(units))
}
