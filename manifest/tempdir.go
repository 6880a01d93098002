package manifest

import "runtime"

// TemporaryVariable returns the environment variable that names the folder of temporary files.
func TemporaryVariable() string {
	if runtime.GOOS == "windows" {
		return "TMP"
	}
	return "TMPDIR"
}
