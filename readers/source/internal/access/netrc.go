package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxNetrcBytes limits the size of a netrc file.
const maxNetrcBytes = 1 << 20

// defaultNetrc returns the name of the user's netrc file: that of the variable NETRC, or .netrc in the home folder.
func defaultNetrc() (string, error) {
	if name := os.Getenv("NETRC"); name != "" {
		return name, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	name := filepath.Join(home, ".netrc")
	if _, err := os.Stat(name); runtime.GOOS == "windows" && errors.Is(err, fs.ErrNotExist) {
		name = filepath.Join(home, "_netrc")
	}
	return name, nil
}

// FromNetrc returns the user and the password of a host in a netrc file:
//
//	machine urs.earthdata.nasa.gov
//	    login ann
//	    password secret
//	default login anonymous password ann@example.org
//
// A default applies to all hosts that are not named before it.
func FromNetrc(name, host string) (user, password string, err error) {
	content, err := readSmall(name, maxNetrcBytes)
	if err != nil {
		return "", "", err
	}
	words := netrcWords(string(content))
	for i := 0; i < len(words); i++ {
		isHost := words[i] == "default"
		if words[i] == "machine" && i+1 < len(words) {
			i++
			isHost = strings.EqualFold(words[i], host)
		} else if !isHost {
			continue
		}
		user, password := "", ""
		for ; i+2 < len(words) && words[i+1] != "machine" && words[i+1] != "default"; i += 2 {
			switch words[i+1] {
			case "login":
				user = words[i+2]
			case "password":
				password = words[i+2]
			}
		}
		if isHost && user != "" && password != "" {
			return user, password, nil
		}
	}
	return "", "", fmt.Errorf("%s has no login and password for the machine %s", name, host)
}

// netrcWords returns the words of a netrc file without comments and macros. A macro ends with an empty line. As in curl, a word
// in double quotes may have spaces and escaped characters.
func netrcWords(text string) (words []string) {
	isMacro := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if isMacro = isMacro && line != ""; isMacro {
			continue
		}
		for line != "" && line[0] != '#' {
			var word string
			word, line = netrcWord(line)
			if word == "macdef" {
				isMacro = true
				break
			}
			words = append(words, word)
			line = strings.TrimLeft(line, " \t")
		}
	}
	return words
}

func netrcWord(line string) (word, rest string) {
	if line[0] != '"' {
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		return line[:end], line[end:]
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return b.String(), line[i+1:]
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// readSmall reads a file of at most `most` bytes.
func readSmall(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s: larger than %d bytes, the limit", name, most)
	}
	return content, err
}
