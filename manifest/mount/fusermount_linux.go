package mount

import (
	"bytes"
	"fmt"
	"os/exec"
)

// runFusermount unmounts a folder of a user who is not root.
func runFusermount(dir string) error {
	out, err := exec.Command("fusermount3", "-u", "-z", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fusermount3: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
