package manifest

import "runtime"

// TemporaryVariable is what in the environment names the folder of temporary files.
func TemporaryVariable() string {
	if runtime.GOOS == "windows" {
		return "TMP"
	}
	return "TMPDIR"
}
