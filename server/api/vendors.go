package api

import (
	"context"

	"govsvc/db"
)

// CreateVendor adds a vendor to the inventory (specification, Vendor inventory
// writes).
func CreateVendor(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 201, "vendor", func(tx *db.Tx) ([]byte, error) {
		return tx.CreateVendor(in.record(nil))
	})
}

// UpdateVendor changes the fields of a vendor that its team owns.
func UpdateVendor(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 200, "vendor", func(tx *db.Tx) ([]byte, error) {
		return tx.UpdateVendor(in.ID, in.record(nil))
	})
}
