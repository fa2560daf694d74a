package locale

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
	texttemplate "text/template"
	"text/template/parse"

	"golang.org/x/text/language"
)

// Template is the name of a template and of its file.
type Template string

// The templates. The comment after each template is the type of its input.
const (
	MailSubject     Template = "mail_subject.txt"     // Event
	MailText        Template = "mail.txt"             // Event
	MailHTML        Template = "mail.html"            // Event
	NoticeSubject   Template = "notice_subject.txt"   // Notice
	NoticeText      Template = "notice.txt"           // Notice
	NoticeHTML      Template = "notice.html"          // Notice
	ConfirmSubject  Template = "confirm_subject.txt"  // Confirmation
	ConfirmText     Template = "confirm.txt"          // Confirmation
	ConfirmHTML     Template = "confirm.html"         // Confirmation
	ManageSubject   Template = "manage_subject.txt"   // Confirmation
	ManageText      Template = "manage.txt"           // Confirmation
	ManageHTML      Template = "manage.html"          // Confirmation
	MemberSubject   Template = "member_subject.txt"   // Member
	MemberText      Template = "member.txt"           // Member
	MemberHTML      Template = "member.html"          // Member
	SMS             Template = "sms.txt"              // Text
	SMSConfirm      Template = "sms_confirm.txt"      // Confirmation
	SMSManage       Template = "sms_manage.txt"       // Confirmation
	WhatsApp        Template = "whatsapp.txt"         // Text
	WhatsAppConfirm Template = "whatsapp_confirm.txt" // Confirmation
	WhatsAppManage  Template = "whatsapp_manage.txt"  // Confirmation
)

// Templates returns all templates.
func Templates() []Template {
	return []Template{
		MailSubject, MailText, MailHTML, NoticeSubject, NoticeText, NoticeHTML, ConfirmSubject, ConfirmText, ConfirmHTML,
		ManageSubject, ManageText, ManageHTML, MemberSubject, MemberText, MemberHTML, SMS, SMSConfirm, SMSManage, WhatsApp, WhatsAppConfirm, WhatsAppManage,
	}
}

// executable is a parsed template of text/template or html/template.
type executable interface {
	Name() string // the name of the file
	Execute(w io.Writer, page any) error
}

// Execute executes the template with page and returns the output. If the operator's template fails, Execute uses the
// shipped template.
func (l *Locale) Execute(ctx context.Context, name Template, page any) (string, error) {
	if own, found := l.own[name]; found {
		out, err := execute(own, page)
		if err == nil {
			return out, nil
		}
		l.log.ErrorContext(ctx, "A template of BELLBUOY_TEMPLATES failed. The shipped one is used.", "locale", l.Tag, "error", err)
	}
	return execute(l.shipped[name], page)
}

func execute(source executable, page any) (string, error) {
	var out strings.Builder
	if err := source.Execute(&out, page); err != nil {
		return "", plainly(err)
	}
	return out.String(), nil
}

// parseAll parses the templates of a locale. texts has the source of each template by its path. A template for only one
// locale is in the folder of that locale.
func parseAll(l *Locale, texts map[string]string, tag language.Tag) (map[Template]executable, error) {
	parsed := make(map[Template]executable)
	for _, name := range Templates() {
		for _, folder := range append(chain(tag), "") {
			file := path.Join(folder, string(name))
			text, found := texts[file]
			if !found {
				continue
			}
			var err error
			if parsed[name], err = l.parse(file, text); err != nil {
				return nil, err
			}
			break
		}
	}
	return parsed, nil
}

// parse parses a template. In the template, the function t returns words of the locale, and the function locale returns
// the tag of the locale.
func (l *Locale) parse(file, text string) (executable, error) {
	functions := map[string]any{"t": l.Word, "locale": func() string { return l.Tag }}
	parsed, err := texttemplate.New(file).Funcs(functions).Parse(text)
	if err != nil {
		return nil, plainly(err)
	}
	for _, part := range parsed.Templates() {
		if part.Tree == nil || part.Root == nil { // an empty file
			continue
		}
		if err := l.checkCalls(part.Tree, part.Root); err != nil {
			return nil, err
		}
	}
	if !strings.HasSuffix(file, ".html") {
		return parsed, nil
	}
	safe, err := template.New(file).Funcs(functions).Parse(text)
	if err != nil {
		return nil, plainly(err)
	}
	return safe, nil
}

// plainly returns an error of a template package as one line. The line starts with the file and the line number.
func plainly(err error) error {
	text := OneLine(err.Error())
	for _, prefix := range []string{"html/template:", "template:"} {
		text = strings.TrimSpace(strings.TrimPrefix(text, prefix))
	}
	return errors.New(text)
}

// checkCalls returns an error if a call of t below the node is wrong, such as an unknown key or no value for a placeholder.
func (l *Locale) checkCalls(tree *parse.Tree, node parse.Node) error {
	var problem error
	visit(node, func(command *parse.CommandNode) {
		if problem != nil || len(command.Args) == 0 || command.Args[0].String() != "t" {
			return
		}
		if text := l.wrongCall(command.Args[1:]); text != "" {
			place, _ := tree.ErrorContext(command)
			problem = fmt.Errorf("%s: %s", place, text)
		}
	})
	return problem
}

// wrongCall returns what is wrong with the arguments of a call of t. It returns "" if nothing is wrong.
func (l *Locale) wrongCall(arguments []parse.Node) string {
	if len(arguments)%2 == 0 {
		return `t needs a key, and pairs of a placeholder and its value, such as {{t "of.dashboard" "dashboard" .Dashboard}}`
	}
	key, quoted := arguments[0].(*parse.StringNode)
	if !quoted {
		return "the key of t must be in quotes"
	}
	text, found := l.Texts[key.Text]
	if !found {
		return fmt.Sprintf("the key %q is unknown", key.Text)
	}
	var given []string
	for i := 1; i < len(arguments); i += 2 {
		name, quoted := arguments[i].(*parse.StringNode)
		if !quoted {
			return "the name of a placeholder must be in quotes"
		}
		given = append(given, "{"+name.Text+"}")
	}
	for _, name := range placeholder.FindAllString(text, -1) {
		if !slices.Contains(given, name) {
			return fmt.Sprintf("the key %q needs a value for %s", key.Text, name)
		}
	}
	return ""
}

// visit calls found for every command in the tree below node.
func visit(node parse.Node, found func(*parse.CommandNode)) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				visit(child, found)
			}
		}
	case *parse.ActionNode:
		visit(n.Pipe, found)
	case *parse.TemplateNode:
		visit(n.Pipe, found)
	case *parse.IfNode:
		visitBranch(&n.BranchNode, found)
	case *parse.WithNode:
		visitBranch(&n.BranchNode, found)
	case *parse.RangeNode:
		visitBranch(&n.BranchNode, found)
	case *parse.PipeNode:
		if n != nil {
			for _, command := range n.Cmds {
				visit(command, found)
			}
		}
	case *parse.CommandNode:
		found(n)
		for _, argument := range n.Args {
			visit(argument, found)
		}
	}
}

func visitBranch(n *parse.BranchNode, found func(*parse.CommandNode)) {
	visit(n.Pipe, found)
	visit(n.List, found)
	visit(n.ElseList, found)
}
