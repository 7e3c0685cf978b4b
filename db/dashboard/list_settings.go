package dashboard

import (
	"context"
	"fmt"
	"strings"

	"govsvc/db"
	"govsvc/db/audit"
)

// ListSettings is how a user looks at the list of a type in an organisation. Other
// users do not see it.
type ListSettings struct {
	Columns  []string // names of members; nil for those of the program
	PageSize int      // 0 for that of the program
	Views    []ListView
}

// ListView is a named view of a list.
type ListView struct {
	ID    string
	Name  string // unique among the user's views of the list
	Query string // filters, order and columns, as the address of the list has them
}

// Bounds of the views of a list.
const (
	MaxViews     = 20 // of a user and a list
	MaxViewName  = 60 // characters
	MaxViewQuery = 4000
)

// ReadListSettings returns how a user looks at a list. Views are in the order of their
// names.
func ReadListSettings(ctx context.Context, store *db.DB, org db.Org, user, object string) (ListSettings, error) {
	var s ListSettings
	var columns *string
	var size *int
	none, err := db.Absent(store.Row(ctx, `SELECT columns, page_size FROM list_settings
		WHERE user_seq = (SELECT seq FROM users WHERE id = ?) AND org_id = ? AND type = ?`, user, org, object).Scan(&columns, &size))
	if err != nil {
		return s, db.StoreError(err)
	}
	if !none && columns != nil {
		s.Columns = strings.Split(*columns, ",")
	}
	if !none && size != nil {
		s.PageSize = *size
	}
	err = store.Each(ctx, func(row db.Scanner) error {
		var v ListView
		err := row.Scan(&v.ID, &v.Name, &v.Query)
		s.Views = append(s.Views, v)
		return err
	}, `SELECT id, name, query FROM list_views WHERE user_seq = (SELECT seq FROM users WHERE id = ?) AND org_id = ? AND type = ?
		ORDER BY name LIMIT ?`, user, org, object, MaxViews)
	return s, err
}

// SaveColumns stores the columns of a user's list; nil for those of the program.
func SaveColumns(ctx context.Context, store *db.DB, by db.Actor, object string, columns []string) error {
	var text any
	if columns != nil {
		text = strings.Join(columns, ",")
	}
	return saveSetting(ctx, store, by, object, "columns", text)
}

// SavePageSize stores how many records a page of a user's list has.
func SavePageSize(ctx context.Context, store *db.DB, by db.Actor, object string, size int) error {
	return saveSetting(ctx, store, by, object, "page_size", int64(size))
}

// saveSetting stores one setting. An unchanged one is not written.
func saveSetting(ctx context.Context, store *db.DB, by db.Actor, object, column string, value any) error {
	return store.Write(ctx, by, func(tx *db.Tx) error {
		user, err := memberOf(tx)
		if err != nil {
			return err
		}
		var before any
		if _, err := db.Absent(tx.Row("SELECT "+column+" FROM list_settings WHERE user_seq = ? AND org_id = ? AND type = ?", user, tx.Org, object).Scan(&before)); err != nil {
			return db.StoreError(err)
		}
		if before == value {
			return nil
		}
		if _, err := tx.Exec("INSERT INTO list_settings (user_seq, org_id, type, "+column+", updated_at) VALUES (?1, ?2, ?3, ?4, ?5) "+
			"ON CONFLICT DO UPDATE SET "+column+" = ?4, updated_at = ?5", user, tx.Org, object, value, tx.At()); err != nil {
			return err
		}
		return auditList(tx, "list_settings.changed", "list_settings", object, audit.Metadata{
			"list": object, "changes": audit.Changes{column: {From: before, To: value}},
		})
	})
}

// SaveView stores a view under a name. It replaces the query of the user's view with that
// name. Errors: Invalid for name or query, Conflict if the user has MaxViews of the list.
func SaveView(ctx context.Context, store *db.DB, by db.Actor, object, name, query string) error {
	if err := checkViewName(name); err != nil {
		return err
	}
	if len(query) > MaxViewQuery {
		return &db.Error{Code: db.Invalid, Param: "query", Message: "the view has too many filters to be saved"}
	}
	return store.Write(ctx, by, func(tx *db.Tx) error {
		user, err := memberOf(tx)
		if err != nil {
			return err
		}
		var id, before string
		none, err := db.Absent(tx.Row("SELECT id, query FROM list_views WHERE user_seq = ? AND org_id = ? AND type = ? AND name = ?", user, tx.Org, object, name).Scan(&id, &before))
		switch {
		case err != nil:
			return db.StoreError(err)
		case none:
			return createView(tx, user, object, name, query)
		case before == query:
			return nil
		}
		if _, err := tx.Exec("UPDATE list_views SET query = ?, updated_at = ? WHERE id = ?", query, tx.At(), id); err != nil {
			return err
		}
		return auditList(tx, "list_view.updated", "list_view", id, audit.Metadata{
			"list": object, "name": name, "changes": audit.Changes{"query": {From: before, To: query}},
		})
	})
}

func createView(tx *db.Tx, user int64, object, name, query string) error {
	var n int
	if err := tx.Row("SELECT count(*) FROM list_views WHERE user_seq = ? AND org_id = ? AND type = ?", user, tx.Org, object).Scan(&n); err != nil {
		return db.StoreError(err)
	}
	if n >= MaxViews {
		return &db.Error{Code: db.Conflict, Param: "name", Message: fmt.Sprintf("a list has at most %d views; remove one first", MaxViews)}
	}
	id := tx.NewID()
	if _, err := tx.Exec("INSERT INTO list_views (user_seq, org_id, type, id, name, query, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
		user, tx.Org, object, id, name, query, tx.At()); err != nil {
		return err
	}
	return auditList(tx, "list_view.created", "list_view", id, audit.Metadata{
		"list": object, "changes": audit.Changes{"name": {To: name}, "query": {To: query}},
	})
}

// RenameView renames a view of the user. Errors: Invalid for name, Conflict if another
// view of the list has the name, NotFound.
func RenameView(ctx context.Context, store *db.DB, by db.Actor, object, id, name string) error {
	if err := checkViewName(name); err != nil {
		return err
	}
	return changeView(ctx, store, by, object, id, func(tx *db.Tx, user int64, before ListView) error {
		if before.Name == name {
			return nil
		}
		var taken bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM list_views WHERE user_seq = ? AND org_id = ? AND type = ? AND name = ?)", user, tx.Org, object, name).Scan(&taken); err != nil {
			return db.StoreError(err)
		}
		if taken {
			return &db.Error{Code: db.Conflict, Param: "name", Message: "another view of this list has this name"}
		}
		if _, err := tx.Exec("UPDATE list_views SET name = ?, updated_at = ? WHERE id = ?", name, tx.At(), id); err != nil {
			return err
		}
		return auditList(tx, "list_view.updated", "list_view", id, audit.Metadata{
			"list": object, "changes": audit.Changes{"name": {From: before.Name, To: name}},
		})
	})
}

// RemoveView removes a view of the user. Errors: NotFound.
func RemoveView(ctx context.Context, store *db.DB, by db.Actor, object, id string) error {
	return changeView(ctx, store, by, object, id, func(tx *db.Tx, _ int64, before ListView) error {
		if _, err := tx.Exec("DELETE FROM list_views WHERE id = ?", id); err != nil {
			return err
		}
		return auditList(tx, "list_view.removed", "list_view", id, audit.Metadata{
			"list": object, "changes": audit.Changes{"name": {From: before.Name}, "query": {From: before.Query}},
		})
	})
}

// changeView runs a change of a view that the user has in the organisation.
func changeView(ctx context.Context, store *db.DB, by db.Actor, object, id string, change func(tx *db.Tx, user int64, before ListView) error) error {
	return store.Write(ctx, by, func(tx *db.Tx) error {
		user, err := memberOf(tx)
		if err != nil {
			return err
		}
		before := ListView{ID: id}
		none, err := db.Absent(tx.Row("SELECT name, query FROM list_views WHERE user_seq = ? AND org_id = ? AND type = ? AND id = ?", user, tx.Org, object, id).
			Scan(&before.Name, &before.Query))
		if err != nil {
			return db.StoreError(err)
		}
		if none {
			return &db.Error{Code: db.NotFound, Message: "this view no longer exists"}
		}
		return change(tx, user, before)
	})
}

// memberOf returns the row of the user who makes a change, a member of its organisation.
func memberOf(tx *db.Tx) (user int64, err error) {
	none, err := db.Absent(tx.Row("SELECT m.user_seq FROM memberships m JOIN users u ON u.seq = m.user_seq WHERE u.id = ? AND m.org_id = ?", tx.ID, tx.Org).Scan(&user))
	if none {
		return 0, &db.Error{Code: db.NotFound, Message: "only a member of the organisation has lists"}
	}
	return user, db.StoreError(err)
}

func checkViewName(name string) error {
	if n := len([]rune(name)); n < 1 || n > MaxViewName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &db.Error{Code: db.Invalid, Param: "name", Message: fmt.Sprintf("name must be one line of 1 to %d characters", MaxViewName)}
	}
	return nil
}

// auditList appends an event about how a user looks at a list.
func auditList(tx *db.Tx, action, kind, id string, metadata audit.Metadata) error {
	return tx.Audit(audit.Event{
		Action: action, Category: audit.Configuration, Severity: audit.SeverityWrite, ResourceType: kind, ResourceID: id, Metadata: metadata,
	})
}
