package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// info is what a release says about its commit.
type info struct {
	version string    // semantic version without "v": 1.2.3, 1.2.3+5.g0123456789ab or 0.0.0-dev+0123456789ab
	commit  string    // full id
	time    time.Time // of the commit; all files of the release have it
}

var described = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?)-([0-9]+)-g[0-9a-f]+$`)

// describe returns the version of the commit in the folder root. A tree with changes is an error: nobody could
// make the same files again.
func describe(ctx context.Context, root string) (info, error) {
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return info{}, err
	}
	if changes != "" {
		first, _, _ := strings.Cut(changes, "\n")
		return info{}, fmt.Errorf("the working tree has changes (%s); commit or remove them", strings.TrimSpace(first))
	}
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return info{}, err
	}
	seconds, err := git(ctx, root, "log", "-1", "--format=%ct")
	if err != nil {
		return info{}, err
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return info{}, fmt.Errorf("git log: time of commit %s: %w", commit, err)
	}
	version, err := versionOf(ctx, root, commit)
	return info{version, commit, time.Unix(epoch, 0).UTC()}, err
}

// versionOf returns the version that the newest tag before a commit gives it.
func versionOf(ctx context.Context, root, commit string) (string, error) {
	const pattern = "v[0-9]*"
	tags, err := git(ctx, root, "tag", "--merged", commit, "--list", pattern)
	if err != nil {
		return "", err
	}
	if tags == "" {
		return "0.0.0-dev+" + commit[:12], nil
	}
	text, err := git(ctx, root, "describe", "--tags", "--long", "--match", pattern, commit)
	if err != nil {
		return "", err
	}
	parts := described.FindStringSubmatch(text)
	if parts == nil {
		return "", fmt.Errorf("git describe: %s: the tag is no version such as v1.2.3 or v1.2.3-rc.1", text)
	}
	if parts[2] == "0" {
		return parts[1], nil
	}
	return parts[1] + "+" + parts[2] + ".g" + commit[:12], nil
}

// git returns the trimmed output of a git command in a folder.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = folder
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// withStderr adds what a failed command printed to its error.
func withStderr(err error) error {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && len(failed.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return err
}
