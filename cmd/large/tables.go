package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"varve/manifest/report"
)

// commands prints the cost of the main commands on one archive.
func (b *bench) commands(ctx context.Context) error {
	archive, moved, out := b.path("archive"), b.path("moved"), b.path("a.varve")
	if _, err := plain.write(ctx, archive, 0, b.files); err != nil {
		return err
	}
	fmt.Printf("%s files, %d processors\n\n| | elapsed | processor | most memory | |\n|---|---|---|---|---|\n", report.Thousands(int64(b.files)), runtime.NumCPU())
	middle := hour(b.files / 2)
	for _, c := range []struct {
		name, made string // made is the path of the command's result, or "" if it writes none
		args       []string
	}{
		{"`check`", "", []string{"check", archive}},
		{"`build`", out, []string{"build", out, archive}},
		{"`verify`", "", []string{"verify", out}},
		{"`relocate`, of all files", "", []string{"relocate", out, archive, moved}},
		{"`info`", "", []string{"info", out}},
		{"`read`, a moment by index", "", []string{"read", out, "v0", "--isel", fmt.Sprintf("time=%d", b.files/2), "--stat"}},
		{"`read`, a month by `--sel`", "", []string{"read", out, "v0", "--sel", "time=" + middle.Format("2006-01"), "--stat"}},
		{"`export kerchunk` to Parquet", b.path("refs.parquet"), []string{"export", "kerchunk", out, b.path("refs.parquet")}},
		{"`export icechunk`", b.path("ice"), []string{"export", "icechunk", out, b.path("ice")}},
		{"`export table`", b.path("table.parquet"), []string{"export", "table", out, b.path("table.parquet")}},
	} {
		if c.args[0] == "relocate" {
			// relocate checks that the files exist in their new place.
			if err := os.Rename(archive, moved); err != nil {
				return err
			}
		}
		cost, err := b.measure(ctx, c.args...)
		if err != nil {
			return err
		}
		size := ""
		if c.made != "" {
			n, err := sizeOf(c.made)
			if err != nil {
				return err
			}
			size = report.Size(n)
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", c.name, seconds(cost.elapsed), seconds(cost.processor), report.Size(cost.memory), size)
	}
	fmt.Println()
	return os.RemoveAll(moved)
}

// headers prints the memory that check needs per file. It is the difference between a check of
// all files and one of half of them, divided by the number of the other half, so that the fixed
// cost of a process cancels out.
func (b *bench) headers(ctx context.Context) error {
	fmt.Printf("| files that each have | memory of `check` for each file (%s files over half of them) |\n|---|---|\n", report.Thousands(int64(b.own)))
	for i, k := range kinds {
		dir := b.path(fmt.Sprint("kind", i))
		half, rest := filepath.Join(dir, "half"), filepath.Join(dir, "rest")
		for _, part := range []struct {
			dir      string
			first, n int
		}{{half, 0, b.own / 2}, {rest, b.own / 2, b.own / 2}} {
			if _, err := k.write(ctx, part.dir, part.first, part.n); err != nil {
				return err
			}
		}
		less, err := b.measure(ctx, "check", half)
		if err != nil {
			return err
		}
		more, err := b.measure(ctx, "check", dir)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.0f kB |\n", k.name, float64(more.memory-less.memory)/float64(b.own/2)/1000)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// appends prints the cost of appending one file at a time, and of the snapshots this leaves.
func (b *bench) appends(ctx context.Context) error {
	names, err := plain.write(ctx, b.path("series"), 0, b.grows+1)
	if err != nil {
		return err
	}
	out := b.path("b.varve")
	if _, err := b.measure(ctx, "build", out, names[0]); err != nil {
		return err
	}
	const some = 50 // the first and last appends to average: single ones vary too much
	var first, last time.Duration
	for i, name := range names[1:] {
		cost, err := b.measure(ctx, "append", out, name)
		if err != nil {
			return err
		}
		if i < some {
			first += cost.elapsed
		}
		if i >= b.grows-some {
			last += cost.elapsed
		}
	}
	before, err := sizeOf(out)
	if err != nil {
		return err
	}
	fmt.Printf("| %s appends of a file each, every one a process of its own | |\n|---|---|\n", report.Thousands(int64(b.grows)))
	n := time.Duration(min(some, b.grows))
	fmt.Printf("| an append | %s at first, %s at last; %s |\n", seconds(first/n), seconds(last/n), report.Size(before/int64(b.grows)))
	cost, text, err := b.output(ctx, "history", out, "--json")
	if err != nil {
		return err
	}
	var snapshots []struct{ Snapshot string }
	if err := json.Unmarshal(text, &snapshots); err != nil {
		return err
	}
	back, err := b.measure(ctx, "restore", out, snapshots[len(snapshots)/2].Snapshot)
	if err != nil {
		return err
	}
	fmt.Printf("| `history` of all snapshots, `restore` of one in the middle | %s, %s |\n", seconds(cost.elapsed), seconds(back.elapsed))
	if _, err := b.measure(ctx, "gc", out); err != nil {
		return err
	}
	after, err := sizeOf(out)
	if err != nil {
		return err
	}
	fmt.Printf("| `gc`, then | %s freed |\n", report.Size(before-after))
	return nil
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// sizeOf returns the bytes of a file, or of all files below a folder.
func sizeOf(name string) (n int64, err error) {
	err = filepath.WalkDir(name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
