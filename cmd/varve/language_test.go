package main

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dialect has phrases that a reader has to read twice, and better ones.
var dialect = []struct{ phrase, better string }{
	{`\btold (anew|as|apart)\b`, "converted, distinguished"},
	{`\banew\b`, "again"},
	{`\bfor want of\b`, "without"},
	{`\bbut for (the|those|what|its)\b`, "except"},
	{`\bthat is there\b`, "existing"},
	{`\blies? (in|at|along|behind|beside) (it|them|the|a)\b`, "is in, is at"},
	{`\bin turn of\b`, "name the thing"},
	{`\bfor whoever\b`, "for"},
	{`\bwhat (lies|stands|becomes of|comes of)\b`, "name the thing"},
}

// clean are the directories that are checked, without their subdirectories.
var clean = []string{"cmd/varve", "docs", "docs/tutorial", "."}

// TestPlainEnglish finds phrases of the list in comments, messages and Markdown.
func TestPlainEnglish(t *testing.T) {
	for _, dir := range clean {
		entries, err := os.ReadDir(filepath.Join("../..", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, place := range dialectIn(t, dir, e) {
				t.Error(place)
			}
		}
	}
}

// dialectIn returns the places in a file that have a phrase of the list.
func dialectIn(t *testing.T, dir string, e fs.DirEntry) (places []string) {
	name := filepath.Join("../..", dir, e.Name())
	isGo := strings.HasSuffix(name, ".go")
	if e.IsDir() || !isGo && !strings.HasSuffix(name, ".md") || e.Name() == "language_test.go" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	add := func(line int, text string) {
		for _, d := range dialect {
			if m := regexp.MustCompile("(?i)" + d.phrase).FindString(text); m != "" {
				places = append(places, filepath.Join(dir, e.Name())+":"+strconv.Itoa(line)+": \""+m+"\"; better: "+d.better)
			}
		}
	}
	if !isGo {
		for i, line := range strings.Split(string(text), "\n") {
			add(i+1, line)
		}
		return places
	}
	fset := token.NewFileSet()
	if _, err := parser.ParseFile(fset, name, text, parser.ImportsOnly); err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	file := fset.AddFile(name, -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return places
		}
		if tok == token.COMMENT || tok == token.STRING {
			add(fset.Position(pos).Line, literal)
		}
	}
}
