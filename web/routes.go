package web

import (
	"slices"

	"govsvc/db/auth"
	"govsvc/server/evidence"
	"govsvc/web/page"
)

// routes is the list of all pages and actions, with the permission that each
// needs.
func (s *Site) routes(config Config) []page.Route {
	signIn, overview := NewSignIn(config.Store.Now, config.FirstLink), NewOverview(config.Document)
	return slices.Concat(
		[]page.Route{{Pattern: "GET /{$}", Needs: auth.ReadRecords, Handle: overview.Show}},
		signInRoutes(signIn), accountRoutes(), userRoutes(),
		recordRoutes(All(config.Document)), importRoutes(s.imports), evidenceRoutes(),
		keyRoutes(), webhookRoutes(), referenceRoutes(),
		auditRoutes(s.verification), settingsRoutes(), statusRoutes(),
	)
}

// signInRoutes are the pages without a session, and the sign-out.
func signInRoutes(signIn *SignIn) []page.Route {
	return []page.Route{
		{Pattern: "GET /setup", Needs: page.Public, Handle: signIn.ShowSetup},
		{Pattern: "POST /setup", Needs: page.Public, Handle: signIn.CreateFirstUser},
		{Pattern: "GET /signin", Needs: page.Public, Handle: signIn.Show},
		{Pattern: "POST /signin", Needs: page.Public, Handle: signIn.CheckPassword},
		{Pattern: "GET /signin/code", Needs: page.Public, Handle: signIn.ShowCode},
		{Pattern: "POST /signin/code", Needs: page.Public, Handle: signIn.CheckCode},
		{Pattern: "POST /signout", Needs: page.SignedIn, Handle: SignOut},
	}
}

// accountRoutes are the pages of the user's own account.
func accountRoutes() []page.Route {
	return []page.Route{
		{Pattern: "POST /organisation", Needs: page.SignedIn, Handle: SwitchOrganisation},
		{Pattern: "GET /account", Needs: auth.OwnAccount, Handle: ShowAccount},
		{Pattern: "POST /account/password", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: ChangePassword},
		{Pattern: "GET /account/second-factor", Needs: auth.OwnAccount, Proof: page.FreshProof, Handle: ShowSecondFactor},
		{Pattern: "POST /account/second-factor", Needs: auth.OwnAccount, Proof: page.FreshProof, Handle: ConfirmSecondFactor},
		{Pattern: "POST /account/second-factor/remove", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: RemoveSecondFactor},
		{Pattern: "POST /account/recovery-codes", Needs: auth.OwnAccount, Proof: page.OwnProof, Handle: CreateRecoveryCodes},
		{Pattern: "GET /account/recovery-codes", Needs: auth.OwnAccount, Handle: ShowRecoveryCodes},
		{Pattern: "GET /account/confirm", Needs: auth.OwnAccount, Handle: page.AskConfirmation},
		{Pattern: "POST /account/confirm", Needs: auth.OwnAccount, Handle: page.Confirm},
		{Pattern: "POST /account/sessions/{id}/end", Needs: auth.OwnAccount, Handle: EndSession},
		{Pattern: "POST /account/sessions/end-others", Needs: auth.OwnAccount, Handle: EndOtherSessions},
		{Pattern: "POST /account/signout-everywhere", Needs: auth.OwnAccount, Handle: SignOutEverywhere},
	}
}

// userRoutes are the pages of the users of an organisation.
func userRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /users", Needs: auth.ReadOversight, Handle: ListUsers},
		{Pattern: "GET /users/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: NewUser},
		{Pattern: "POST /users/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: CreateUser},
		{Pattern: "GET /users/{id}", Needs: auth.ReadOversight, Proof: page.FreshProof, Handle: ShowUser},
		{Pattern: "POST /users/{id}/role", Needs: auth.Administer, Proof: page.FreshProof, Handle: ChangeRole},
		{Pattern: "POST /users/{id}/password", Needs: auth.Administer, Proof: page.FreshProof, Handle: ResetPassword},
		{Pattern: "POST /users/{id}/second-factor/remove", Needs: auth.Administer, Proof: page.FreshProof, Handle: ResetSecondFactor},
		{Pattern: "POST /users/{id}/signout", Needs: auth.Administer, Proof: page.FreshProof, Handle: SignOutUser},
		{Pattern: "POST /users/{id}/remove", Needs: auth.Administer, Proof: page.FreshProof, Handle: RemoveUser},
	}
}

// recordRoutes are the lists, records and forms of all resources.
func recordRoutes(resources []*Pages) []page.Route {
	var all []page.Route
	for _, p := range resources {
		all = append(all,
			page.Route{Pattern: "GET " + p.list, Needs: auth.ReadRecords, Handle: p.List},
			page.Route{Pattern: "GET " + p.base + ".csv", Needs: auth.ReadRecords, Handle: p.Export, Download: true},
			page.Route{Pattern: "GET " + p.base + "/{id}", Needs: auth.ReadRecords, Handle: p.Show},
		)
		if p.adds {
			all = append(all,
				page.Route{Pattern: "GET " + p.base + "/new", Needs: auth.WriteRecords, Handle: p.New},
				page.Route{Pattern: "POST " + p.base, Needs: auth.WriteRecords, Handle: p.Create, MaxBody: MaxRecordForm},
			)
		}
		if p.changes {
			all = append(all,
				page.Route{Pattern: "GET " + p.base + "/{id}/edit", Needs: auth.WriteRecords, Handle: p.Edit},
				page.Route{Pattern: "POST " + p.base + "/{id}", Needs: auth.WriteRecords, Handle: p.Update, MaxBody: MaxRecordForm},
			)
		}
	}
	return append(all,
		page.Route{Pattern: "GET /incidents/{id}/notification", Needs: auth.WriteRecords, Handle: NewNotification},
		page.Route{Pattern: "POST /incidents/{id}/notification", Needs: auth.WriteRecords, Handle: CreateNotification},
		page.Route{Pattern: "GET /kpis/{id}/checkins/new", Needs: auth.WriteRecords, Handle: NewCheckin},
		page.Route{Pattern: "POST /kpis/{id}/checkins", Needs: auth.WriteRecords, Handle: CreateCheckin},
	)
}

func importRoutes(imports *Imports) []page.Route {
	return []page.Route{
		{Pattern: "GET /import", Needs: auth.WriteRecords, Handle: imports.Show},
		{Pattern: "POST /import", Needs: auth.WriteRecords, Handle: imports.Check, MaxBody: MaxImport + page.MaxForm, Upload: true},
		{Pattern: "GET /import/{ticket}", Needs: auth.WriteRecords, Handle: imports.Preview},
		{Pattern: "POST /import/{ticket}", Needs: auth.WriteRecords, Handle: imports.Import},
		{Pattern: "GET /import/templates/{file}", Needs: auth.WriteRecords, Handle: imports.Template, Download: true},
	}
}

func evidenceRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /evidence", Needs: auth.ReadRecords, Handle: ListPacks},
		{Pattern: "GET /evidence/new", Needs: auth.WriteRecords, Handle: NewPack},
		{Pattern: "POST /evidence", Needs: auth.WriteRecords, Handle: FilePack, MaxBody: evidence.MaxAttached + page.MaxForm, Upload: true},
		{Pattern: "GET /evidence/{id}", Needs: auth.ReadRecords, Handle: ShowPack},
		{Pattern: "GET /evidence/{id}/pack.zip", Needs: auth.ReadRecords, Handle: DownloadPack, Download: true},
	}
}

func keyRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /keys", Needs: auth.ReadOversight, Handle: ListKeys},
		{Pattern: "GET /keys/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: NewKey},
		{Pattern: "POST /keys/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: CreateKey},
		{Pattern: "GET /keys/made", Needs: auth.Administer, Handle: ShowCreatedKey},
		{Pattern: "GET /keys/{id}", Needs: auth.ReadOversight, Handle: ShowKey},
		{Pattern: "POST /keys/{id}/rotate", Needs: auth.Administer, Proof: page.FreshProof, Handle: RotateKey},
		{Pattern: "POST /keys/{id}/revoke", Needs: auth.Administer, Proof: page.FreshProof, Handle: RevokeKey},
	}
}

func webhookRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /webhooks", Needs: auth.ReadOversight, Handle: ListWebhooks},
		{Pattern: "GET /webhooks/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: NewWebhook},
		{Pattern: "POST /webhooks/new", Needs: auth.Administer, Proof: page.FreshProof, Handle: CreateWebhook},
		{Pattern: "GET /webhooks/secret", Needs: auth.Administer, Handle: ShowSecret},
		{Pattern: "GET /webhooks/deadletters", Needs: auth.ReadOversight, Handle: ListDeadLetters},
		{Pattern: "POST /webhooks/deadletters/replay", Needs: auth.Administer, Handle: ReplayDeadLetters},
		{Pattern: "POST /webhooks/deadletters/replay-all", Needs: auth.Administer, Handle: ReplayAllDeadLetters},
		{Pattern: "POST /webhooks/deadletters/discard", Needs: auth.Administer, Handle: DiscardDeadLetters},
		{Pattern: "GET /webhooks/{id}", Needs: auth.ReadOversight, Handle: ShowWebhook},
		{Pattern: "GET /webhooks/{id}/change", Needs: auth.Administer, Proof: page.FreshProof, Handle: EditWebhook},
		{Pattern: "POST /webhooks/{id}/change", Needs: auth.Administer, Proof: page.FreshProof, Handle: UpdateWebhook},
		{Pattern: "POST /webhooks/{id}/pause", Needs: auth.Administer, Handle: PauseWebhook},
		{Pattern: "POST /webhooks/{id}/resume", Needs: auth.Administer, Handle: ResumeWebhook},
		{Pattern: "POST /webhooks/{id}/test", Needs: auth.Administer, Handle: TestWebhook},
		{Pattern: "POST /webhooks/{id}/rotate-secret", Needs: auth.Administer, Proof: page.FreshProof, Handle: RotateSecret},
		{Pattern: "POST /webhooks/{id}/delete", Needs: auth.Administer, Handle: DeleteWebhook},
		{Pattern: "GET /webhooks/{id}/deliveries/{number}", Needs: auth.ReadOversight, Handle: ShowDelivery},
	}
}

func referenceRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /docs", Needs: page.Public, Handle: ShowReference},
		{Pattern: "POST /docs/key", Needs: auth.Administer, Handle: CreateReferenceKey},
	}
}

func auditRoutes(verification *Verification) []page.Route {
	return []page.Route{
		{Pattern: "GET /audit", Needs: auth.ReadOversight, Handle: SearchAudit},
		{Pattern: "GET /audit/verify", Needs: auth.ReadOversight, Handle: verification.Show},
		{Pattern: "POST /audit/verify", Needs: auth.ReadOversight, Handle: verification.Verify},
	}
}

func settingsRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /settings", Needs: auth.ReadOversight, Handle: ShowSettings},
		{Pattern: "POST /settings", Needs: auth.Administer, Proof: page.FreshProof, Handle: ChangeSettings},
		{Pattern: "POST /settings/organisations", Needs: auth.Administer, Proof: page.FreshProof, Handle: CreateOrganisation},
	}
}

func statusRoutes() []page.Route {
	return []page.Route{{Pattern: "GET /status", Needs: auth.ReadOversight, Handle: ShowStatus}}
}
