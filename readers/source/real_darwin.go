package source

import (
	"errors"
	"os"
	"syscall"
)

// noFollowAny is O_NOFOLLOW_ANY of <sys/fcntl.h>: no part of the path may be a symbolic link.
const noFollowAny = 0x20000000

func openReal(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|noFollowAny, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errReplaced(path)
	}
	return f, err
}
