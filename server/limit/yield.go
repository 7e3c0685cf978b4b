package limit

import "context"

type yielding struct{}

// Yielding is the context of a connection that can be told whether it gives way
// to new ones where there is no room, though a request of it is under way.
func Yielding(ctx context.Context, yields func(bool)) context.Context {
	return context.WithValue(ctx, yielding{}, yields)
}

// Yield lets the connection of a request give way, or not any more: while it
// waits for what anybody could keep it waiting for.
func Yield(ctx context.Context, now bool) {
	if yields, ok := ctx.Value(yielding{}).(func(bool)); ok {
		yields(now)
	}
}
