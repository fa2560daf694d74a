package command

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
)

func printBody(content []byte) error {
	_, err := fmt.Printf("%s\n", bytes.TrimSpace(content))
	return err
}

// printTable prints rows in columns.
func printTable(rows [][]string) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = plain(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")) // Flush returns the error of an earlier write
	}
	return table.Flush()
}

// plain replaces characters that could move the cursor of a terminal or hide text.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
