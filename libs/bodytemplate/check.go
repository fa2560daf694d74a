package bodytemplate

import (
	"strings"
	"text/template/parse"
)

// checker checks the parse tree of a template.
type checker struct {
	t             *Template
	dot           *shape
	variables     []variable // the visible variables; the last of several with the same name hides the others
	depth, ranges int
}

type variable struct {
	name  string
	shape *shape
}

// deeper runs check one level deeper, or returns an error if that level is above maxDepth. After check, deeper restores
// dot and removes the variables that check has declared.
func (c *checker) deeper(at parse.Node, check func() error) error {
	visible, dot := len(c.variables), c.dot
	if c.depth++; c.depth > maxDepth {
		return c.t.fail(at, "is nested more than %d deep", maxDepth)
	}
	err := check()
	c.depth--
	c.variables, c.dot = c.variables[:visible], dot
	return err
}

func (c *checker) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := c.node(node); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) node(node parse.Node) error {
	switch node := node.(type) {
	case *parse.TextNode:
		return nil
	case *parse.ActionNode:
		return c.action(node)
	case *parse.IfNode:
		return c.branch(&node.BranchNode, func(*shape) error { return nil })
	case *parse.WithNode:
		return c.branch(&node.BranchNode, func(of *shape) error {
			c.dot = of
			return nil
		})
	case *parse.RangeNode:
		if c.ranges++; c.ranges > maxRanges {
			return c.t.fail(node, "range is nested more than %d deep", maxRanges)
		}
		defer func() { c.ranges-- }()
		return c.branch(&node.BranchNode, func(of *shape) error {
			if of.element == nil {
				return c.t.fail(node.Pipe, "range needs a list of the payload")
			}
			c.dot = of.element
			return nil
		})
	}
	word, _, _ := strings.Cut(strings.Trim(node.String(), "{}"), " ")
	return c.t.fail(node, "%s is not allowed", word)
}

// branch checks an if, with or range node. enter gets the shape of the pipeline, and sets dot for node.List.
func (c *checker) branch(node *parse.BranchNode, enter func(*shape) error) error {
	return c.deeper(node, func() error {
		of, err := c.pipeline(node.Pipe)
		if err != nil {
			return err
		}
		outer := c.dot
		if err := enter(of); err != nil {
			return err
		}
		if err := c.declare(node, of); err != nil {
			return err
		}
		visible := len(c.variables)
		if err := c.list(node.List); err != nil {
			return err
		}
		c.variables, c.dot = c.variables[:visible], outer
		return c.list(node.ElseList)
	})
}

// declare declares the variables of an if, with or range node. The last variable of a range is the element, the variable
// before it is the index.
func (c *checker) declare(node *parse.BranchNode, of *shape) error {
	if node.NodeType != parse.NodeRange {
		return c.assign(node.Pipe, of)
	}
	if node.Pipe.IsAssign {
		return c.t.fail(node.Pipe, "range must declare its variables with :=")
	}
	for i, declared := range node.Pipe.Decl {
		shape := scalar
		if i == len(node.Pipe.Decl)-1 {
			shape = of.element
		}
		c.variables = append(c.variables, variable{declared.Ident[0], shape})
	}
	return nil
}

// assign declares the variables of a pipeline, or assigns to them. An assignment with another shape is an error.
func (c *checker) assign(pipe *parse.PipeNode, of *shape) error {
	for _, declared := range pipe.Decl {
		name := declared.Ident[0]
		if !pipe.IsAssign {
			c.variables = append(c.variables, variable{name, of})
			continue
		}
		if former, _ := c.variable(name); name == "$" || former != of {
			return c.t.fail(declared, "%s must keep the kind of its first value", name)
		}
	}
	return nil
}

func (c *checker) variable(name string) (*shape, bool) {
	for i := len(c.variables) - 1; i >= 0; i-- {
		if c.variables[i].name == name {
			return c.variables[i].shape, true
		}
	}
	return nil, false
}

// action checks an action that writes a value or sets a variable.
func (c *checker) action(node *parse.ActionNode) error {
	pipe := node.Pipe
	last := pipe.Cmds[len(pipe.Cmds)-1]
	switch name := function(last); {
	case len(pipe.Decl) > 0:
	case name == "secret" && len(pipe.Cmds) == 1:
		return c.secret(last)
	case name == "json":
		return c.json(pipe)
	}
	of, err := c.pipeline(pipe)
	switch {
	case err != nil:
		return err
	case len(pipe.Decl) > 0:
		return c.assign(pipe, of)
	case !of.isScalar():
		return c.t.fail(node, "%s is not a single value; write it with json", pipe)
	}
	return nil
}

func (c *checker) secret(command *parse.CommandNode) error {
	if len(command.Args) == 2 {
		if name, is := command.Args[1].(*parse.StringNode); is {
			c.t.uses = append(c.t.uses, use{name.Text, c.t.lineAt(int(command.Position()))})
			return nil
		}
	}
	return c.t.fail(command, `secret needs the name of a secret: {{secret "key"}}`)
}

// json checks a pipeline that ends with json.
func (c *checker) json(pipe *parse.PipeNode) error {
	last := len(pipe.Cmds) - 1
	before, err := c.commands(pipe.Cmds[:last])
	if err != nil {
		return err
	}
	_, n, err := c.arguments(pipe.Cmds[last], before)
	if err == nil && n != 1 {
		err = c.t.fail(pipe.Cmds[last], "json needs one value")
	}
	return err
}

// pipeline returns the shape of a pipeline.
func (c *checker) pipeline(pipe *parse.PipeNode) (*shape, error) { return c.commands(pipe.Cmds) }

func (c *checker) commands(commands []*parse.CommandNode) (of *shape, err error) {
	for _, command := range commands {
		if of, err = c.command(command, of); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// function returns the name of the function that the command calls; empty: none.
func function(command *parse.CommandNode) string {
	if name, is := command.Args[0].(*parse.IdentifierNode); is {
		return name.Ident
	}
	return ""
}

// command returns the shape of a command. piped is the shape of the command before it, or nil for the first command.
func (c *checker) command(command *parse.CommandNode, piped *shape) (*shape, error) {
	name := function(command)
	if name == "" {
		if len(command.Args) > 1 || piped != nil {
			return nil, c.t.fail(command, "%s is not a function", command.Args[0])
		}
		return c.operand(command.Args[0])
	}
	switch name {
	case "json", "secret":
		return nil, c.t.fail(command, "%s must be the end of an action that writes it", name)
	case "eq", "ne", "and", "or", "not", "cut", "lower", "upper":
	default:
		return nil, c.t.fail(command, "the function %s is not allowed", name)
	}
	if name == "cut" {
		return scalar, c.cut(command, piped)
	}
	shapes, n, err := c.arguments(command, piped)
	if err != nil {
		return nil, err
	}
	least, most := arity(name)
	if n < least || n > most {
		return nil, c.t.fail(command, "%s has %d values, which is the wrong number", name, n)
	}
	if name == "and" || name == "or" {
		return common(shapes), nil
	}
	for _, of := range shapes {
		if name != "not" && !of.isScalar() {
			return nil, c.t.fail(command, "%s takes single values only", name)
		}
	}
	return scalar, nil
}

// arity returns the least and the largest number of values of a function.
func arity(name string) (least, most int) {
	switch name {
	case "eq", "and", "or":
		return map[string]int{"eq": 2, "and": 1, "or": 1}[name], MaxText
	case "ne":
		return 2, 2
	}
	return 1, 1
}

// cut checks the values of cut: a number, and a single value.
func (c *checker) cut(command *parse.CommandNode, piped *shape) error {
	if len(command.Args) > 1 {
		if number, is := command.Args[1].(*parse.NumberNode); is && number.IsInt && number.Int64 >= 1 && number.Int64 <= MaxOutput {
			shapes, n, err := c.arguments(command, piped)
			if err == nil && (n != 2 || !shapes[1].isScalar()) {
				err = c.t.fail(command, "cut needs a number of characters and one single value")
			}
			return err
		}
	}
	return c.t.fail(command, "cut needs a number of characters from 1 to %d first", MaxOutput)
}

// arguments returns the shapes of a function's arguments, including the piped value, and their number.
func (c *checker) arguments(command *parse.CommandNode, piped *shape) (shapes []*shape, n int, err error) {
	for _, argument := range command.Args[1:] {
		of, err := c.operand(argument)
		if err != nil {
			return nil, 0, err
		}
		shapes = append(shapes, of)
	}
	if piped != nil {
		shapes = append(shapes, piped)
	}
	return shapes, len(shapes), nil
}

// common returns the shape if all shapes are equal, else mixed.
func common(shapes []*shape) *shape {
	for _, of := range shapes {
		if of != shapes[0] {
			return mixed
		}
	}
	return shapes[0]
}

// operand returns the shape of a value.
func (c *checker) operand(node parse.Node) (of *shape, err error) {
	switch node := node.(type) {
	case *parse.DotNode:
		return c.dot, nil
	case *parse.FieldNode:
		return c.fields(node, c.dot, node.Ident)
	case *parse.VariableNode:
		of, found := c.variable(node.Ident[0])
		if !found {
			return nil, c.t.fail(node, "%s is unknown", node.Ident[0])
		}
		return c.fields(node, of, node.Ident[1:])
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return scalar, nil
	case *parse.PipeNode:
		if len(node.Decl) > 0 {
			return nil, c.t.fail(node, "a variable cannot be set in parentheses")
		}
		err = c.deeper(node, func() (err error) {
			of, err = c.pipeline(node)
			return err
		})
		return of, err
	}
	return nil, c.t.fail(node, "%s is not allowed here", node)
}

// fields returns the shape of a path of fields.
func (c *checker) fields(node parse.Node, of *shape, path []string) (*shape, error) {
	for _, name := range path {
		next, found := of.fields[name]
		if !found {
			return nil, c.t.fail(node, "%s is unknown", node)
		}
		of = next
	}
	return of, nil
}
