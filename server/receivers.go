package server

import "govsvc/server/webhook"

// reach fills in who receives webhooks where the configuration leaves it open.
func (c *Config) reach() error {
	if c.SandboxReceivers == nil {
		c.SandboxReceivers = webhook.Simulator{}
	}
	if c.Receivers != nil {
		return nil
	}
	sender, err := webhook.NewSender(webhook.SenderConfig{Version: c.Version, Now: c.Store.Now})
	c.Receivers = sender
	return err
}
