package manifest

import "strings"

// Slashed is the name of a source with slashes between its folders, also of one that was scanned
// on Windows: C:\data\x.nc, \\server\share\x.nc.
func Slashed(name string) string {
	if !IsWindowsPath(name) {
		return name
	}
	return strings.ReplaceAll(name, `\`, "/")
}

// IsWindowsPath reports whether a name is the whole path of a file on Windows. On other systems no
// source has such a name.
func IsWindowsPath(name string) bool {
	if strings.HasPrefix(name, `\\`) {
		return true
	}
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') && 'a' <= name[0]|0x20 && name[0]|0x20 <= 'z'
}
