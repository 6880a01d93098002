package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/engine"
)

func newEngineCommand() *cobra.Command {
	var opts allowOptions
	var loopback bool
	cmd := &cobra.Command{
		Use:    "engine",
		Hidden: true,
		Short:  "Answer the requests of the Python package, which starts this itself",
		Long: `Answer the requests of the process that started this, until that ends or closes standard input. Standard
input is a Unix socket, over which connections are passed; with --loopback a pipe, whose first line is
a token that each connection begins with. The protocol is in manifest/engine.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			server := engine.New(engine.Options{Version: versionName(), Commit: commitName(), Allow: opts.storeOptions().Allow, ErrorText: errorText})
			err := runEngine(ctx, server, loopback, cmd.InOrStdin(), cmd.OutOrStdout())
			cancel()
			return errors.Join(err, server.Close())
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&loopback, "loopback", false, "listen on 127.0.0.1, print the port, and ask for the token")
	return cmd
}

func runEngine(ctx context.Context, server *engine.Server, loopback bool, in io.Reader, out io.Writer) error {
	if loopback {
		return engineOnLoopback(ctx, server, in, out)
	}
	file, ok := in.(*os.File)
	if !ok {
		return usageError{errors.New("standard input is no socket: varve engine is started by the Python package")}
	}
	return engine.ServePassed(ctx, server, file)
}

// engineOnLoopback listens until standard input ends.
func engineOnLoopback(ctx context.Context, server *engine.Server, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	token, err := lines.ReadString('\n')
	if err != nil || len(token) < 33 {
		return usageError{errors.New("the first line of standard input is to be a token of at least 32 characters")}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return ownError{err}
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines) // ends with the client, however
		listener.Close()
	}()
	if _, err := fmt.Fprintln(out, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.ServeTokens(ctx, listener, strings.TrimSpace(token))
}
