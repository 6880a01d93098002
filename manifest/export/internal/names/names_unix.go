//go:build unix

package names

// checkName has nothing against any name.
func checkName(string) error { return nil }
