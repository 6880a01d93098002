package manifest

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
)

// IsSum reports whether s is a SHA-256 in lower-case hex.
func IsSum(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// TableName returns the name of a table's file within the repository.
func TableName(kind TableKind, sum string) string {
	switch kind {
	case Patches:
		return path.Join("patches", string(kind)+"-"+sum+".parquet")
	case Chunks:
		return path.Join("patches", string(kind)+"-"+sum+".bin")
	default:
		return path.Join("tables", string(kind)+"-"+sum+".parquet")
	}
}

// Check returns an error if the table's fields are invalid. So a manifest from somebody else cannot name a
// file outside the repository.
func (t Table) Check() error {
	switch {
	case !IsSum(t.Sum):
		return badTable(t, fmt.Sprintf("sum is %.80q, not 64 hex digits", t.Sum))
	case t.Name != TableName(t.Kind, t.Sum) || !t.Kind.isPlain():
		return badTable(t, fmt.Sprintf("a table of kind %.80q has another name", t.Kind))
	case t.Bytes < 0 || t.Rows < 0 || t.First < 0:
		return badTable(t, fmt.Sprintf("bytes %d, rows %d or first row %d is negative", t.Bytes, t.Rows, t.First))
	}
	return nil
}

func badTable(t Table, why string) error {
	return &DamageError{Name: fmt.Sprintf("table %.200q", t.Name), Damage: FileCorrupt, Detail: why}
}

// isPlain reports whether a kind, which may be unknown to this version, is safe as a part of a file name.
func (k TableKind) isPlain() bool {
	for _, c := range []byte(k) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return k != ""
}
