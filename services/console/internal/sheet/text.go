package sheet

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// Text returns the text of a file. A file in UTF-16 begins with a byte order mark, as Excel writes “Unicode text”. Text returns any
// other file as it is.
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
