package main

import (
	"context"
	"errors"
	"net"
	"os"
)

// notifySystemd tells systemd the state of a service, such as READY=1, if it asks for that.
func notifySystemd(ctx context.Context, state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] == '@' { // the name of an abstract socket
		path = "\x00" + path[1:]
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unixgram", path)
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(state))
	return errors.Join(err, c.Close())
}
