//go:build !unix

package sandbox

import "os"

// lockFile takes no lock, because on these systems RemoveLeftovers removes nothing.
func lockFile(*os.File) bool { return true }

// ownedByUser returns false, because without locks it is unknown whether a folder
// is in use.
func ownedByUser(os.FileInfo) bool { return false }
