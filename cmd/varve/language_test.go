package main

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type idiom struct {
	word   string // a part of the phrase, to find files that may have it
	phrase *regexp.Regexp
	better string
}

// dialect has phrases that a reader has to read twice, and better ones.
var dialect = []idiom{
	{"told ", regexp.MustCompile(`(?i)\btold (anew|as|apart)\b`), "converted, distinguished"},
	{"anew", regexp.MustCompile(`(?i)\banew\b`), "again"},
	{"for want of", regexp.MustCompile(`(?i)\bfor want of\b`), "without"},
	{"but for ", regexp.MustCompile(`(?i)\bbut for (the|those|what|its)\b`), "except"},
	{"that is there", regexp.MustCompile(`(?i)\bthat is there\b`), "existing"},
	{"lie", regexp.MustCompile(`(?i)\blies? (in|at|along|behind|beside) (it|them|the|a)\b`), "is in, is at"},
	{"in turn of", regexp.MustCompile(`(?i)\bin turn of\b`), "name the thing"},
	{"for whoever", regexp.MustCompile(`(?i)\bfor whoever\b`), "for"},
	{"what ", regexp.MustCompile(`(?i)\bwhat (lies|stands|becomes of|comes of)\b`), "name the thing"},
}

// TestPlainEnglish finds phrases of the list in comments, messages and Markdown of the whole tree.
func TestPlainEnglish(t *testing.T) {
	read := 0
	err := filepath.WalkDir("../..", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() != ".." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "site") {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			read++
			for _, place := range dialectIn(t, name) {
				t.Error(place)
			}
		}
		return nil
	})
	if err != nil || read < 500 {
		t.Fatalf("%d files read (%v)", read, err)
	}
}

// dialectIn returns the places in a file that have a phrase of the list.
func dialectIn(t *testing.T, name string) (places []string) {
	isGo := strings.HasSuffix(name, ".go")
	if !isGo && !strings.HasSuffix(name, ".md") || filepath.Base(name) == "language_test.go" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lower, possible := strings.ToLower(string(text)), slices.Clone(dialect)
	possible = slices.DeleteFunc(possible, func(d idiom) bool { return !strings.Contains(lower, d.word) })
	if len(possible) == 0 {
		return nil
	}
	add := func(line int, text string) {
		for _, d := range possible {
			if m := d.phrase.FindString(text); m != "" {
				places = append(places, strings.TrimPrefix(filepath.ToSlash(name), "../../")+":"+strconv.Itoa(line)+": \""+m+"\"; better: "+d.better)
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
