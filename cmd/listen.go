package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"govsvc/server/listener"
)

// listen opens the address that a flag names.
func listen(ctx context.Context, flag, addr string, limits listener.Limits) (*listener.Listener, error) {
	l, err := listener.Listen(ctx, addr, limits)
	if err != nil {
		return nil, cannotListen(flag, addr, err)
	}
	return l, nil
}

func cannotListen(flag, addr string, err error) error {
	return fmt.Errorf("can't listen on %s: %w; choose another address with %s", addr, err, flag)
}

// urlOf is the URL under which clients reach a listener.
func urlOf(l *listener.Listener, secure *tls.Config) string {
	if secure == nil {
		return "http://" + l.HostPort()
	}
	return "https://" + l.HostPort()
}

// unlessInterrupted is err, or nil if err only reports that a signal arrived before
// the command was ready.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
