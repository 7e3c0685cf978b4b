package db

import "context"

// Vendors are the vendor inventory, newest first (GET /vendor/inventory).
var Vendors = Collection{
	Name: "vendors", table: "vendors", newest: "created_at", Since: true,
	Filters: map[string]string{"status": "status"},
}

var (
	vendors          = noun{object: "vendor", table: "vendors", key: []string{"vendor_key"}}
	vendorPortfolios = noun{object: "vendor_portfolio", table: "vendor_portfolios", key: []string{"version_number"}}
)

// VendorPortfolio reads the portfolio of the greatest version; nil if there is
// none.
func (d *DB) VendorPortfolio(ctx context.Context, org Organisation) ([]byte, error) {
	return d.current(ctx, "SELECT resource FROM vendor_portfolios WHERE org_id = ? ORDER BY version_number DESC LIMIT 1", org)
}
