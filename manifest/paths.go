package manifest

import "strings"

// ToSlash returns the name of a source with slashes between its folders. It replaces the backslashes only of
// sources that were scanned on Windows: C:\data\x.nc, \\server\share\x.nc.
func ToSlash(name string) string {
	if !IsWindowsPath(name) {
		return name
	}
	return strings.ReplaceAll(name, `\`, "/")
}

// IsWindowsPath reports whether a name is an absolute path on Windows. On other systems no source has
// such a name.
func IsWindowsPath(name string) bool {
	if strings.HasPrefix(name, `\\`) {
		return true
	}
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') && 'a' <= name[0]|0x20 && name[0]|0x20 <= 'z'
}
