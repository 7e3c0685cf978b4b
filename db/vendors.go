package db

import "govsvc/db/resource"

var vendors = stored(resource.Vendor)

// CreateVendor adds a vendor to the inventory; Conflict where its key is taken.
func (tx *Tx) CreateVendor(record Record) ([]byte, error) {
	made, fresh, err := tx.create(vendors, record)
	if err == nil && !fresh {
		err = &Error{Code: Conflict, Param: "vendor_key", Message: "a vendor with this vendor_key is in the inventory already; change it with PATCH"}
	}
	return made.resource, err
}

// UpdateVendor changes a vendor.
func (tx *Tx) UpdateVendor(id string, record Record) ([]byte, error) {
	changed, err := tx.update(vendors, id, record, nil)
	return changed.resource, err
}
