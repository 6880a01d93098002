package kerchunk

import (
	"encoding/json"
	"time"

	"varve/readers"
)

// version is the state of a file whose chunks references name. A set may list the files, as the Python package does:
//
//	{"version": 1, "sources": {"/data/a.nc": {"size": 8123, "modified": "2024-01-02T03:04:05Z", "etag": "…"}}, "refs": …}
//
// Other programs ignore the member. Reading a file that has changed since is an error.
type version struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	ETag     string    `json:"etag"`
}

func parseVersions(raw []byte) (out map[string]version, err error) {
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, readers.Corruptf(`"sources": %w`, err)
	}
	return out, nil
}
