package locale

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"golang.org/x/text/language"
)

const (
	wordsFolder = "locales"
	maxFile     = 256 << 10 // bytes
)

//go:embed files/templates
var embedded embed.FS

// files are the contents of word files and template files.
type files struct {
	words     map[string]map[string]string // by locale and key
	templates map[string]string            // by path
}

func newFiles() files {
	return files{words: make(map[string]map[string]string), templates: make(map[string]string)}
}

func readShipped() (files, error) {
	f := newFiles()
	shipped, err := words.Open(words.Messages)
	if err != nil {
		return f, err
	}
	for _, l := range shipped.All() {
		f.words[l.Tag] = l.Texts
	}
	for _, name := range Templates() {
		content, err := embedded.ReadFile(path.Join("files/templates", string(name)))
		if err != nil {
			return f, err
		}
		f.templates[string(name)] = string(content)
	}
	return f, nil
}

// readFolder reads the operator's folder. Templates are in the folder itself. Templates of one locale are in a folder
// with the name of the locale. Words are in the folder "locales". own may be nil.
func readFolder(own fs.FS, shipped files) (files, error) {
	f := newFiles()
	if own == nil {
		return f, nil
	}
	all, err := list(own, ".")
	if err != nil {
		return f, err
	}
	for _, file := range all {
		content, err := read(own, file)
		if err != nil {
			return f, err
		}
		folder, name := path.Split(file)
		if folder == wordsFolder+"/" {
			if err := f.addWords(file, name, content, shipped); err != nil {
				return f, err
			}
			continue
		}
		if !slices.Contains(Templates(), Template(name)) {
			return f, fmt.Errorf("%s: no template has this name; the templates are %s", file, join(Templates()))
		}
		f.templates[file] = string(content)
	}
	for file := range f.templates {
		folder := strings.TrimSuffix(path.Dir(file), ".")
		if folder != "" && !slices.Contains(names(shipped, f), folder) {
			return f, fmt.Errorf("%s: there is no locale %q; add its words as %s/%s.json", file, folder, wordsFolder, folder)
		}
	}
	return f, nil
}

// addWords adds the words of a locale. It returns an error if the name or the content of the file is not valid.
func (f *files) addWords(file, name string, content []byte, shipped files) error {
	locale, found := strings.CutSuffix(name, ".json")
	tag, err := language.Parse(locale)
	if !found || err != nil || tag.String() != locale || tag == language.Und {
		return fmt.Errorf("%s: the name must be a BCP 47 tag and .json, such as fr.json or pt-BR.json", file)
	}
	parsed, err := parseWords(file, content)
	if err == nil {
		err = checkWords(file, parsed, shipped.words[Default])
	}
	f.words[locale] = make(map[string]string, len(parsed))
	for key, word := range parsed {
		f.words[locale][key] = word.text
	}
	return err
}

// list returns the paths of the files in a folder and in the folders in it. Deeper folders are an error. list ignores
// Markdown files, and names that start with a dot, which editors and version control create.
func list(own fs.FS, folder string) ([]string, error) {
	entries, err := fs.ReadDir(own, folder)
	if err != nil {
		return nil, cause(folder, err)
	}
	var all []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || strings.EqualFold(path.Ext(entry.Name()), ".md") {
			continue
		}
		info, err := fs.Stat(own, name) // follows symbolic links
		switch {
		case err != nil:
			return nil, cause(name, err)
		case info.Mode().IsRegular():
			all = append(all, name)
		case !info.IsDir() || folder != ".":
			return nil, fmt.Errorf("%s: must be a file", name)
		default:
			more, err := list(own, name)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// read returns the content of a file. It returns an error if the content is not UTF-8 or larger than maxFile.
func read(own fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(own, file)
	if err != nil {
		return nil, cause(file, err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: must have at most %d bytes", file, maxFile)
	}
	content, err := fs.ReadFile(own, file)
	if err != nil {
		return nil, cause(file, err)
	}
	number := 0
	for line := range bytes.Lines(content) {
		if number++; !utf8.Valid(line) {
			return nil, failed(file, number, "must be UTF-8")
		}
	}
	return content, nil
}

// cause returns an error about a file. The error contains the name of the file once.
func cause(file string, err error) error {
	var reason *fs.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

func join(templates []Template) string {
	names := find.Values(templates, func(t Template) string { return string(t) })
	return strings.Join(names, ", ")
}
