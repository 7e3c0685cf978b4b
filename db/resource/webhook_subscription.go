package resource

// WebhookSubscription is an endpoint that events are sent to. It is not part of
// the data format: an export must not contain what a secret belongs to.
var WebhookSubscription = register(Resource{
	Type: "webhook_subscription", Singular: "webhook", Plural: "webhooks",

	Table: "webhook_subscriptions",

	List: List{Operation: "listWebhookSubscriptions", Name: "webhook_subscriptions", OrderBy: "created_at"},
})
