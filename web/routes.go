package web

import (
	"slices"

	"govsvc/db/auth"
	"govsvc/server/evidence"
	"govsvc/web/account"
	"govsvc/web/admin"
	"govsvc/web/data"
	"govsvc/web/integrations"
	"govsvc/web/overview"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/report"
)

// routes returns the list of all pages and actions, with the permission that each
// needs.
func (s *Site) routes(config Config) []page.Route {
	signIn, first := account.NewSignIn(config.Store.Now, config.FirstLink), overview.New(config.Document)
	return slices.Concat(
		[]page.Route{
			{Pattern: "GET /{$}", Needs: auth.ReadRecords, Handle: first.Show},
			{Pattern: "GET /attention", Needs: auth.ReadRecords, Handle: overview.ShowAttention},
		},
		searchRoutes(records.NewSearch(config.Document, searchedActions)),
		signInRoutes(signIn), accountRoutes(), userRoutes(),
		recordRoutes(records.All(config.Document)), reportRoutes(), importRoutes(s.imports), evidenceRoutes(),
		keyRoutes(), webhookRoutes(), referenceRoutes(),
		auditRoutes(s.verification), settingsRoutes(), statusRoutes(s.checks),
	)
}

func searchRoutes(search *records.Search) []page.Route {
	return []page.Route{{Pattern: "GET /search", Needs: auth.ReadRecords, Handle: search.Show}}
}

// signInRoutes returns the pages without a session, and the sign-out.
func signInRoutes(signIn *account.SignIn) []page.Route {
	return []page.Route{
		{Pattern: "GET /setup", Needs: page.Public, Handle: signIn.ShowSetup},
		{Pattern: "POST /setup", Needs: page.Public, Handle: signIn.CreateFirstUser},
		{Pattern: "GET /signin", Needs: page.Public, Handle: signIn.Show},
		{Pattern: "POST /signin", Needs: page.Public, Handle: signIn.CheckPassword},
		{Pattern: "GET /signin/code", Needs: page.Public, Handle: signIn.ShowCode},
		{Pattern: "POST /signin/code", Needs: page.Public, Handle: signIn.CheckCode},
		{Pattern: "POST /signout", Needs: page.SignedIn, Handle: account.SignOut},
	}
}

// accountRoutes returns the pages of the user's own account.
func accountRoutes() []page.Route {
	return []page.Route{
		{Pattern: "POST /organisation", Needs: page.SignedIn, Handle: account.SwitchOrganisation},
		{Pattern: "GET /account", Needs: auth.OwnAccount, Handle: account.Show},
		{Pattern: "POST /theme", Needs: auth.OwnAccount, Handle: page.ChooseTheme},
		{Pattern: "POST /account/password", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: account.ChangePassword},
		{Pattern: "GET /account/second-factor", Needs: auth.OwnAccount, Proof: page.FreshProof, Handle: account.ShowSecondFactor},
		{Pattern: "POST /account/second-factor", Needs: auth.OwnAccount, Proof: page.FreshProof, Handle: account.ConfirmSecondFactor},
		{Pattern: "POST /account/second-factor/remove", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: account.RemoveSecondFactor},
		{Pattern: "POST /account/recovery-codes", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: account.CreateRecoveryCodes},
		{Pattern: "GET /account/recovery-codes", Needs: auth.OwnAccount, Handle: account.ShowRecoveryCodes},
		{Pattern: "GET /account/confirm", Needs: auth.OwnAccount, Handle: page.AskConfirmation},
		{Pattern: "POST /account/confirm", Needs: auth.OwnAccount, Handle: page.Confirm},
		{Pattern: "POST /account/sessions/{id}/end", Needs: auth.OwnAccount, Handle: account.EndSession},
		{Pattern: "POST /account/sessions/end-others", Needs: auth.OwnAccount, Handle: account.EndOtherSessions},
		{Pattern: "POST /account/signout-everywhere", Needs: auth.OwnAccount, Handle: account.SignOutEverywhere},
	}
}

// userRoutes returns the pages of the users of an organisation.
func userRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /users", Needs: auth.ReadOversight, Handle: account.ListUsers},
		{Pattern: "GET /users/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.NewUser},
		{Pattern: "POST /users/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.CreateUser},
		{Pattern: "GET /users/{id}", Needs: auth.ReadOversight, Proof: page.FreshProof, Handle: account.ShowUser},
		{Pattern: "POST /users/{id}/role", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.ChangeRole},
		{Pattern: "POST /users/{id}/password", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.ResetPassword},
		{Pattern: "POST /users/{id}/second-factor/remove", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.ResetSecondFactor},
		{Pattern: "POST /users/{id}/signout", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.SignOutUser},
		{Pattern: "POST /users/{id}/remove", Needs: auth.Administer, Proof: page.FreshProof, Handle: account.RemoveUser},
	}
}

// recordRoutes returns the lists, records and forms of all resources.
func recordRoutes(resources []*records.Pages) []page.Route {
	var all []page.Route
	for _, p := range resources {
		all = append(all,
			page.Route{Pattern: "GET " + p.Page.List, Needs: auth.ReadRecords, Handle: p.List},
			page.Route{Pattern: "GET " + p.Page.Base + ".csv", Needs: auth.ReadRecords, Handle: p.Export, Download: true},
			page.Route{Pattern: "GET " + p.Page.Base + "/{id}", Needs: auth.ReadRecords, Handle: p.Show},
			page.Route{Pattern: "POST " + p.Page.Base + "/columns", Needs: auth.ReadRecords, Handle: p.SetColumns},
			page.Route{Pattern: "POST " + p.Page.Base + "/page-size", Needs: auth.ReadRecords, Handle: p.SetPageSize},
			page.Route{Pattern: "POST " + p.Page.Base + "/views", Needs: auth.ReadRecords, Handle: p.SaveView},
			page.Route{Pattern: "POST " + p.Page.Base + "/views/rename", Needs: auth.ReadRecords, Handle: p.RenameView},
			page.Route{Pattern: "POST " + p.Page.Base + "/views/remove", Needs: auth.ReadRecords, Handle: p.RemoveView},
		)
		if p.Addable {
			all = append(all,
				page.Route{Pattern: "GET " + p.Page.Base + "/new", Needs: auth.WriteRecords, Handle: p.New},
				page.Route{Pattern: "POST " + p.Page.Base, Needs: auth.WriteRecords, Handle: p.Create, MaxBody: records.MaxForm},
			)
		}
		if p.Editable {
			all = append(all,
				page.Route{Pattern: "GET " + p.Page.Base + "/{id}/edit", Needs: auth.WriteRecords, Handle: p.Edit},
				page.Route{Pattern: "POST " + p.Page.Base + "/{id}", Needs: auth.WriteRecords, Handle: p.Update, MaxBody: records.MaxForm},
			)
		}
		if p.ChangesTogether() {
			all = append(all,
				page.Route{Pattern: "POST " + p.Page.Base + "/bulk", Needs: auth.WriteRecords, Handle: records.Bulk{Pages: p}.Preview},
				page.Route{Pattern: "POST " + p.Page.Base + "/bulk/apply", Needs: auth.WriteRecords, Handle: records.Bulk{Pages: p}.Apply},
			)
		}
		if p.Linked {
			all = append(all, annotationRoutes(p)...)
		}
	}
	return append(all,
		page.Route{Pattern: "GET /incidents/{id}/notification", Needs: auth.WriteRecords, Handle: records.NewNotification},
		page.Route{Pattern: "POST /incidents/{id}/notification", Needs: auth.WriteRecords, Handle: records.CreateNotification},
		page.Route{Pattern: "GET /incidents/{id}/note", Needs: auth.WriteRecords, Handle: records.NewNote},
		page.Route{Pattern: "POST /incidents/{id}/note", Needs: auth.WriteRecords, Handle: records.CreateNote},
		page.Route{Pattern: "GET /kpis/{id}/checkins/new", Needs: auth.WriteRecords, Handle: records.NewCheckin},
		page.Route{Pattern: "POST /kpis/{id}/checkins", Needs: auth.WriteRecords, Handle: records.CreateCheckin},
	)
}

// annotationRoutes returns what people add to a record: links, comments and attachments.
// They also archive it.
func annotationRoutes(p *records.Pages) []page.Route {
	at, a := p.Page.Base+"/{id}", records.Annotations{Pages: p}
	return []page.Route{
		{Pattern: "GET " + at + "/links/new", Needs: auth.WriteRecords, Handle: a.NewLink},
		{Pattern: "POST " + at + "/links", Needs: auth.WriteRecords, Handle: a.AddLink},
		{Pattern: "POST " + at + "/links/{link}/remove", Needs: auth.WriteRecords, Handle: a.RemoveLink},
		{Pattern: "POST " + at + "/comments", Needs: auth.WriteRecords, Handle: a.AddComment, MaxBody: records.MaxForm},
		{Pattern: "POST " + at + "/comments/{comment}/remove", Needs: auth.WriteRecords, Handle: a.RemoveComment},
		{Pattern: "POST " + at + "/attachments", Needs: auth.WriteRecords, Handle: a.Attach, MaxBody: records.MaxUpload, Upload: true},
		{Pattern: "GET " + at + "/attachments/{file}", Needs: auth.ReadRecords, Handle: a.Download, Download: true},
		{Pattern: "POST " + at + "/attachments/{file}/remove", Needs: auth.WriteRecords, Handle: a.RemoveAttachment},
		{Pattern: "POST " + at + "/archive", Needs: auth.WriteRecords, Handle: a.Archive},
		{Pattern: "POST " + at + "/restore", Needs: auth.WriteRecords, Handle: a.Restore},
	}
}

func reportRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /report", Needs: auth.ReadRecords, Handle: report.Show},
		{Pattern: "POST /report", Needs: auth.WriteRecords, Handle: report.Save},
	}
}

func importRoutes(imports *data.Imports) []page.Route {
	return []page.Route{
		{Pattern: "GET /import", Needs: auth.WriteRecords, Handle: imports.Show},
		{Pattern: "POST /import", Needs: auth.WriteRecords, Handle: imports.Check, MaxBody: data.MaxImport + page.MaxForm, Upload: true},
		{Pattern: "GET /import/{ticket}", Needs: auth.WriteRecords, Handle: imports.Preview},
		{Pattern: "POST /import/{ticket}", Needs: auth.WriteRecords, Handle: imports.Import},
		{Pattern: "GET /import/templates/{file}", Needs: auth.WriteRecords, Handle: imports.Template, Download: true},
	}
}

func evidenceRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /evidence", Needs: auth.ReadRecords, Handle: data.ListPacks},
		{Pattern: "GET /evidence/new", Needs: auth.WriteRecords, Handle: data.NewPack},
		{Pattern: "POST /evidence", Needs: auth.WriteRecords, Handle: data.FilePack, MaxBody: evidence.MaxAttached + page.MaxForm, Upload: true},
		{Pattern: "GET /evidence/{id}", Needs: auth.ReadRecords, Handle: data.ShowPack},
		{Pattern: "GET /evidence/{id}/pack.zip", Needs: auth.ReadRecords, Handle: data.DownloadPack, Download: true},
	}
}

func keyRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /keys", Needs: auth.ReadOversight, Handle: integrations.ListKeys},
		{Pattern: "GET /keys/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.NewKey},
		{Pattern: "POST /keys/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.CreateKey},
		{Pattern: "GET /keys/made", Needs: auth.Administer, Handle: integrations.ShowCreatedKey},
		{Pattern: "GET /keys/{id}", Needs: auth.ReadOversight, Handle: integrations.ShowKey},
		{Pattern: "POST /keys/{id}/rotate", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.RotateKey},
		{Pattern: "POST /keys/{id}/revoke", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.RevokeKey},
	}
}

func webhookRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /webhooks", Needs: auth.ReadOversight, Handle: integrations.ListWebhooks},
		{Pattern: "GET /webhooks/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.NewWebhook},
		{Pattern: "POST /webhooks/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.CreateWebhook},
		{Pattern: "GET /webhooks/secret", Needs: auth.Administer, Handle: integrations.ShowSecret},
		{Pattern: "GET /webhooks/deadletters", Needs: auth.ReadOversight, Handle: integrations.ListDeadLetters},
		{Pattern: "POST /webhooks/deadletters/replay", Needs: auth.Administer, Handle: integrations.ReplayDeadLetters},
		{Pattern: "POST /webhooks/deadletters/replay-all", Needs: auth.Administer, Handle: integrations.ReplayAllDeadLetters},
		{Pattern: "POST /webhooks/deadletters/discard", Needs: auth.Administer, Handle: integrations.DiscardDeadLetters},
		{Pattern: "GET /webhooks/{id}", Needs: auth.ReadOversight, Handle: integrations.ShowWebhook},
		{Pattern: "GET /webhooks/{id}/change", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.EditWebhook},
		{Pattern: "POST /webhooks/{id}/change", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.UpdateWebhook},
		{Pattern: "POST /webhooks/{id}/pause", Needs: auth.Administer, Handle: integrations.PauseWebhook},
		{Pattern: "POST /webhooks/{id}/resume", Needs: auth.Administer, Handle: integrations.ResumeWebhook},
		{Pattern: "POST /webhooks/{id}/test", Needs: auth.Administer, Handle: integrations.TestWebhook},
		{Pattern: "POST /webhooks/{id}/rotate-secret", Needs: auth.Administer, Proof: page.FreshProof, Handle: integrations.RotateSecret},
		{Pattern: "POST /webhooks/{id}/delete", Needs: auth.Administer, Handle: integrations.DeleteWebhook},
		{Pattern: "GET /webhooks/{id}/deliveries/{number}", Needs: auth.ReadOversight, Handle: integrations.ShowDelivery},
	}
}

func referenceRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /docs", Needs: page.Public, Handle: integrations.ShowReference},
		{Pattern: "POST /docs/key", Needs: auth.Administer, Handle: integrations.CreateReferenceKey},
	}
}

func auditRoutes(verification *admin.Verification) []page.Route {
	return []page.Route{
		{Pattern: "GET /audit", Needs: auth.ReadOversight, Handle: admin.SearchAudit},
		{Pattern: "GET /audit.csv", Needs: auth.ReadOversight, Handle: admin.ExportAuditCSV, Download: true},
		{Pattern: "GET /audit.ndjson", Needs: auth.ReadOversight, Handle: admin.ExportAuditNDJSON, Download: true},
		{Pattern: "GET /audit/verify", Needs: auth.ReadOversight, Handle: verification.Show},
		{Pattern: "POST /audit/verify", Needs: auth.ReadOversight, Handle: verification.Verify},
	}
}

func settingsRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /settings", Needs: auth.ReadOversight, Handle: admin.ShowSettings},
		{Pattern: "POST /settings", Needs: auth.Administer, Proof: page.FreshProof, Handle: admin.ChangeSettings},
		{Pattern: "POST /settings/organisations", Needs: auth.Administer, Proof: page.FreshProof, Handle: admin.CreateOrganisation},
	}
}

func statusRoutes(checks *admin.Checks) []page.Route {
	return []page.Route{
		{Pattern: "GET /status", Needs: auth.ReadOversight, Handle: checks.Show},
		{Pattern: "POST /status/check", Needs: auth.ReadOversight, Handle: checks.Start},
	}
}
