// Package namepattern compiles the patterns that take values from names of files: regular expressions with groups, and
// time formats such as %Y%m%d.
package namepattern

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// TimeGroups lists the names of pattern groups that are parts of a time, as in strftime.
var TimeGroups = []string{"y", "m", "d", "H", "M", "S", "j"}

// timeCodes maps the codes of strptime to the regular expressions of their groups. Ranges are part of
// the expressions, so that digits elsewhere in a name are not taken for a time.
var timeCodes = map[byte]string{
	'Y': `(?P<y>\d{4})`, 'y': `(?P<y>\d{2})`, 'm': `(?P<m>0[1-9]|1[0-2])`, 'd': `(?P<d>0[1-9]|[12]\d|3[01])`,
	'H': `(?P<H>[01]\d|2[0-3])`, 'M': `(?P<M>[0-5]\d)`, 'S': `(?P<S>[0-5]\d)`, 'j': `(?P<j>[0-3]\d\d)`, '%': "%",
}

// formatPattern returns the regular expression of a time format such as %Y%m%d_%H%M, and false for a
// text without a code of strptime. The text between codes matches itself.
func formatPattern(text string) (pattern string, ok bool, err error) {
	var b strings.Builder
	isDigits := false // the last part matches digits only
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+1 == len(text) {
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
			isDigits = false
			continue
		}
		i++
		group, known := timeCodes[text[i]]
		if !known {
			return "", true, fmt.Errorf("the time format %q has the code %%%c; the codes are %%Y %%y %%m %%d %%j %%H %%M %%S and %%%%", text, text[i])
		}
		if strings.Contains(b.String(), group[:min(len(group), len("(?P<y>"))]) && text[i] != '%' {
			return "", true, fmt.Errorf("the time format %q has the code %%%c twice", text, text[i])
		}
		// A format such as %Y%m%d must not match a part of a longer number.
		if text[i] != '%' && b.Len() == 0 {
			b.WriteString(`(?:^|\D)`)
		}
		b.WriteString(group)
		isDigits, ok = text[i] != '%', ok || text[i] != '%'
	}
	if isDigits {
		b.WriteString(`(?:\D|$)`)
	}
	return b.String(), ok, nil
}

// Compile compiles a pattern: a regular expression with groups, or a time format. It refuses a
// pattern with named groups that would be ignored.
func Compile(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(text)
	if err != nil || pattern.NumSubexp() == 0 {
		switch format, ok, bad := formatPattern(text); {
		case bad != nil:
			return nil, bad
		case ok:
			pattern, err = regexp.Compile(format)
		case err == nil:
			err = fmt.Errorf("the pattern %q has no group in parentheses, and no code of a time such as %%Y", text)
		}
	}
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(slices.Clone(pattern.SubexpNames()), func(name string) bool { return name == "" })
	isTime := func(name string) bool { return slices.Contains(TimeGroups, name) }
	if !slices.ContainsFunc(names, isTime) {
		return pattern, nil
	}
	for _, name := range names {
		if !isTime(name) {
			return nil, fmt.Errorf("the pattern %q has a group %s, which is not a part of a time; the parts are %s", text, name, strings.Join(TimeGroups, ", "))
		}
	}
	if !slices.Contains(names, "y") {
		return nil, fmt.Errorf("the pattern %q has %s, which is part of a time, and no year y; for a number, use a group without a name, such as (\\d+)", text, names[0])
	}
	if slices.Contains(names, "j") && (slices.Contains(names, "m") || slices.Contains(names, "d")) {
		return nil, fmt.Errorf("the pattern %q has j, the day of the year, together with m or d; use either j, or m and d", text)
	}
	return pattern, nil
}
