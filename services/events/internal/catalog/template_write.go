package catalog

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// PageOfTemplates returns a page of the organization's templates, in the order of their creation. If kind is not empty,
// it returns only templates of the kind. after is Next of the previous page, or empty.
func (c *Catalog) PageOfTemplates(ctx context.Context, organization string, kind TemplateKind, limit int, after string) (find.Page[Template], error) {
	query := find.Query{Limit: limit, After: after}
	if kind != "" {
		query.Where = []find.Condition{find.Eq(FieldKind, string(kind))}
	}
	page, err := c.store.Templates.Find(ctx, owned(organization, query))
	if err != nil {
		return page, err
	}
	there, err := c.store.ComponentsOf(ctx, organization, componentsOfTemplates(page.Items))
	for i := range page.Items {
		page.Items[i].only(there)
	}
	return page, err
}

// Template returns the organization's template with the id, or NotFound.
func (c *Catalog) Template(ctx context.Context, organization, id string) (Template, error) {
	template, err := c.store.Templates.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && template.OrganizationID != organization {
		err = noTemplate()
	}
	if err != nil {
		return Template{}, err
	}
	there, err := c.store.ComponentsOf(ctx, organization, template.ComponentIDs)
	template.only(there)
	return template, err
}

// CreateTemplate stores a new template whose fields fill sets. It returns a Conflict if the organization has maxTemplates.
func (c *Catalog) CreateTemplate(ctx context.Context, command Command, fill func(*Template)) (Template, error) {
	now := c.now()
	template := Template{
		ID: topic.NewID(), OrganizationID: command.Organization, Message: Rich{Format: richtext.Rich}, ComponentIDs: []string{},
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	fill(&template)
	if err := cmp.Or(template.check(new(Template)), c.checkComponentsOf(ctx, &template)); err != nil {
		return Template{}, err
	}
	for {
		var err error
		if template.Place, err = freePlace(ctx, c.store.Templates, command.Organization, maxTemplates, "templates"); err != nil {
			return Template{}, err
		}
		err = c.store.Templates.Insert(ctx, template, audit.Entry(audit.From(ctx), command.Action, now, nil, &template)...)
		if !fault.Is(err, fault.Conflict) { // else another template has taken the place
			return template, err
		}
	}
}

func (c *Catalog) checkComponentsOf(ctx context.Context, t *Template) error {
	there, err := c.store.ComponentsOf(ctx, t.OrganizationID, t.ComponentIDs)
	return cmp.Or(err, t.checkComponents(there))
}

// ChangeTemplate applies change to a template and stores the result. It stores nothing if change makes no difference.
func (c *Catalog) ChangeTemplate(ctx context.Context, command Command, id string, change func(*Template) error) (Template, error) {
	template, err := c.store.Templates.Update(ctx, id, func(t *Template) ([]topic.Message, error) {
		if t.OrganizationID != command.Organization {
			return nil, noTemplate()
		}
		if err := command.checkVersion(t.Version); err != nil {
			return nil, err
		}
		before := *t
		before.ComponentIDs = slices.Clone(t.ComponentIDs)
		if err := cmp.Or(change(t), t.check(&before)); err != nil {
			return nil, err
		}
		if !slices.Equal(before.ComponentIDs, t.ComponentIDs) {
			if err := c.checkComponentsOf(ctx, t); err != nil {
				return nil, err
			}
		}
		if reflect.DeepEqual(before, *t) {
			return nil, fault.ErrUnchanged
		}
		t.touch(c.now())
		return audit.Entry(audit.From(ctx), command.Action, t.UpdatedAt, &before, t), nil
	})
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			err = noTemplate()
		}
		return Template{}, err
	}
	there, err := c.store.ComponentsOf(ctx, command.Organization, template.ComponentIDs)
	template.only(there)
	return template, err
}

func (c *Catalog) DeleteTemplate(ctx context.Context, command Command, id string) error {
	err := c.store.Templates.Delete(ctx, id, func(t *Template) ([]topic.Message, error) {
		if t.OrganizationID != command.Organization {
			return nil, noTemplate()
		}
		if err := command.checkVersion(t.Version); err != nil {
			return nil, err
		}
		return audit.Entry(audit.From(ctx), command.Action, c.now(), t, nil), nil
	})
	if fault.Is(err, fault.NotFound) {
		err = noTemplate()
	}
	return err
}

// forgetInTemplates removes a component from the organization's templates.
func (c *Catalog) forgetInTemplates(ctx context.Context, organization, componentID string) error {
	found, err := c.store.Templates.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Has(FieldComponents, componentID)}}))
	if err != nil {
		return err
	}
	for _, template := range found.Items {
		_, err := c.store.Templates.Update(ctx, template.ID, func(t *Template) ([]topic.Message, error) {
			at := slices.Index(t.ComponentIDs, componentID)
			if at < 0 {
				return nil, fault.ErrUnchanged
			}
			t.ComponentIDs = slices.Delete(t.ComponentIDs, at, at+1)
			t.touch(c.now())
			return nil, nil
		})
		if fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

func noTemplate() error { return fault.New(fault.NotFound, "There is no such template.") }
