package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// cost is what a command took.
type cost struct {
	elapsed, processor time.Duration
	memory             int64 // the most that was resident; 0 where the system does not say
}

// measure runs a command.
func (b *bench) measure(ctx context.Context, args ...string) (cost, error) {
	c, _, err := b.ask(ctx, args...)
	return c, err
}

// ask runs a command for its results.
func (b *bench) ask(ctx context.Context, args ...string) (c cost, results []byte, err error) {
	cmd := exec.CommandContext(ctx, b.varve, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+b.path("config"))
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return c, nil, fmt.Errorf("varve %s: %w: %s", strings.Join(args, " "), err, &messages)
	}
	c.elapsed = time.Since(began)
	c.processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.memory = mostResident(cmd.ProcessState)
	return c, out.Bytes(), nil
}
