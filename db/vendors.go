package db

import "context"

// Vendors are the vendor inventory, newest first (GET /vendor/inventory).
var Vendors = Collection{
	Name: "vendors", table: "vendors", order: "created_at", Since: true,
	Filters: map[string]string{"status": "status"},
}

var (
	vendors          = storedResource{Type: "vendor", Table: "vendors", Key: []string{"vendor_key"}}
	vendorPortfolios = storedResource{Type: "vendor_portfolio", Table: "vendor_portfolios", Key: []string{"version_number"}}
)

// VendorPortfolio reads the portfolio of the greatest version; nil if there is
// none.
func (d *DB) VendorPortfolio(ctx context.Context, org Organisation) ([]byte, error) {
	return d.current(ctx, "SELECT resource FROM vendor_portfolios WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", org)
}

// CreateVendor adds a vendor to the inventory; Conflict where its key is taken.
func (tx *Tx) CreateVendor(record Record) ([]byte, error) {
	made, fresh, err := tx.create(&vendors, record)
	if err == nil && !fresh {
		err = &Error{Code: Conflict, Param: "vendor_key", Message: "a vendor with this vendor_key is in the inventory already; change it with PATCH"}
	}
	return made.resource, err
}

// UpdateVendor changes a vendor.
func (tx *Tx) UpdateVendor(id string, record Record) ([]byte, error) {
	changed, err := tx.update(&vendors, id, record, nil)
	return changed.resource, err
}
