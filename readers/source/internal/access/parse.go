package access

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"varve/readers/source/internal/object"
	"varve/readers/source/yamlkeys"
)

// maxFileBytes limits the size of an access file.
const maxFileBytes = 1 << 20

// earthdataLogin is the login host of NASA's Earthdata.
const earthdataLogin = "https://urs.earthdata.nasa.gov"

// Load reads an access file.
func Load(name string) (*Config, error) {
	text, err := readSmall(name, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("access file: %w", err)
	}
	entries, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("access file %s: %w", name, err)
	}
	return &Config{name, entries}, nil
}

// yamlLine finds the line in an error of the YAML parser. The rest of the error may quote the file.
var yamlLine = regexp.MustCompile(`line \d+`)

func parse(text []byte) ([]*Entry, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		where := yamlLine.FindString(err.Error())
		if where == "" {
			where = "the file"
		}
		return nil, fmt.Errorf("%s: not valid YAML", where)
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	list := doc.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, yamlkeys.Errorf(list, "want a list of entries, each with a prefix")
	}
	var entries []*Entry
	known := map[string]bool{}
	for _, node := range list.Content {
		e, err := parseEntry(node)
		if err != nil {
			return nil, err
		}
		key := e.url.String()
		if known[key] {
			return nil, yamlkeys.Errorf(node, "the prefix %s is in the file twice", e.Prefix)
		}
		known[key] = true
		entries = append(entries, e)
	}
	return entries, nil
}

// fields calls use for each key of a mapping. Keys that are not in known are errors.
func fields(node *yaml.Node, known []string, use func(key string, value *yaml.Node) error) error {
	return yamlkeys.Each(node, known, func(key, value *yaml.Node) error {
		if !slices.Contains(known, key.Value) {
			return yamlkeys.Errorf(key, "unknown key; the keys here are: %s", strings.Join(known, ", "))
		}
		return use(key.Value, value)
	})
}

func parseEntry(node *yaml.Node) (*Entry, error) {
	e := &Entry{}
	err := fields(node, []string{"prefix", "headers", "bearer", "basic", "netrc", "earthdata", "s3"}, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "prefix":
			if e.Prefix, err = plain(value); err == nil {
				e.url, err = parsePrefix(value)
			}
		case "headers":
			e.Headers, err = parseHeaders(value)
		case "bearer":
			e.Bearer, err = parseValue(value)
		case "basic":
			e.Basic, err = parseLogin(value)
		case "netrc":
			e.Netrc, err = parseNetrc(value)
		case "earthdata":
			e.Earthdata, err = parseEarthdata(value)
		case "s3":
			e.S3, err = parseS3(value)
		}
		return err
	})
	if err == nil {
		err = e.check(node)
	}
	return e, err
}

// check returns an error if the parts of an entry contradict each other.
func (e *Entry) check(node *yaml.Node) error {
	if e.url == nil {
		return yamlkeys.Errorf(node, "the entry has no prefix")
	}
	ways := 0
	for _, is := range []bool{e.Bearer != nil, e.Basic != nil, e.Netrc != "", e.Earthdata != nil} {
		if is {
			ways++
		}
	}
	isHTTP := e.url.Scheme != "s3"
	switch {
	case ways > 1:
		return yamlkeys.Errorf(node, "want one of bearer, basic, netrc and earthdata")
	case isHTTP && e.S3 != nil:
		return yamlkeys.Errorf(node, "s3 needs a prefix like s3://bucket/")
	case !isHTTP && (ways > 0 || e.Headers != nil):
		return yamlkeys.Errorf(node, "a prefix in S3 takes s3 only")
	case isHTTP && ways == 0 && e.Headers == nil, !isHTTP && e.S3 == nil:
		return yamlkeys.Errorf(node, "the entry has no credentials")
	}
	for _, h := range e.Headers {
		if strings.EqualFold(h.Name, "Authorization") && ways > 0 {
			return yamlkeys.Errorf(node, "the header Authorization is given, and another way to log in")
		}
	}
	return nil
}

// parsePrefix parses a prefix: a URL with a host, or s3://, s3://bucket.
func parsePrefix(node *yaml.Node) (*url.URL, error) {
	u, err := url.Parse(node.Value)
	if err != nil {
		return nil, yamlkeys.Errorf(node, "the prefix must be a URL like https://host/path/ or s3://bucket/")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return nil, yamlkeys.Errorf(node, "the prefix must have no user, query and fragment")
	case u.Scheme == "s3" && strings.Trim(u.Path, "/") != "":
		return nil, yamlkeys.Errorf(node, "settings of S3 are for a whole bucket: want s3://%s/", u.Host)
	case u.Scheme == "s3":
		u.Path = ""
		return u, nil
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, yamlkeys.Errorf(node, "the prefix must begin with https://, http:// or s3://")
	case u.Host == "" || strings.Contains(strings.TrimPrefix(u.Host, "*."), "*"):
		return nil, yamlkeys.Errorf(node, "the prefix must have a host, such as data.example.org or *.example.org")
	case strings.HasPrefix(u.Host, "*.") && !strings.Contains(u.Host[2:], "."):
		return nil, yamlkeys.Errorf(node, "*. must be followed by at least two parts of a host name, as in *.example.org")
	case hasDots(u.Path):
		return nil, yamlkeys.Errorf(node, "the prefix must have no . and .. between slashes")
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	return u, nil
}

// plain returns the text of a scalar.
func plain(node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" || node.Value == "" {
		return "", yamlkeys.Errorf(node, "want a text")
	}
	return node.Value, nil
}

// flag returns the value of a true or false.
func flag(node *yaml.Node) (is bool, err error) {
	if node.Kind != yaml.ScalarNode || node.Tag != "!!bool" || node.Decode(&is) != nil {
		return false, yamlkeys.Errorf(node, "want true or false")
	}
	return is, nil
}

// parseValue parses a text, {env: NAME} or {file: PATH}.
func parseValue(node *yaml.Node) (*Value, error) {
	v := &Value{}
	if node.Kind == yaml.ScalarNode {
		text, err := plain(node)
		if err == nil && !isFieldValue(text) {
			err = yamlkeys.Errorf(node, "the value has a character that a header cannot have")
		}
		v.text = text
		return v, err
	}
	err := fields(node, []string{"env", "file"}, func(key string, value *yaml.Node) error {
		text, err := plain(value)
		if key == "env" {
			v.env = text
		} else {
			v.file = atHome(text)
		}
		return err
	})
	if err == nil && (v.env == "") == (v.file == "") {
		err = yamlkeys.Errorf(node, "want a text, {env: NAME} or {file: PATH}")
	}
	return v, err
}

// atHome replaces ~/ by the home folder.
func atHome(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if home, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return name
}

func parseHeaders(node *yaml.Node) (list []Header, err error) {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		return nil, yamlkeys.Errorf(node, "want a mapping of header names to values")
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i]
		if name.Kind != yaml.ScalarNode || !IsHeaderName(name.Value) {
			return nil, yamlkeys.Errorf(name, "not the name of a header that can be set")
		}
		v, err := parseValue(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, Header{name.Value, *v})
	}
	return list, nil
}

// ownHeaders are set for each request by this program.
var ownHeaders = []string{"host", "range", "if-match", "if-unmodified-since", "accept-encoding", "content-length", "transfer-encoding", "connection"}

// IsHeaderName reports whether a user may set a header.
func IsHeaderName(name string) bool {
	const tokens = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
	lower := strings.ToLower(name)
	return lower != "" && strings.Trim(lower, tokens) == "" && !slices.Contains(ownHeaders, lower)
}

func parseLogin(node *yaml.Node) (*Login, error) {
	l := &Login{}
	var has int
	err := fields(node, []string{"user", "password"}, func(key string, value *yaml.Node) error {
		v, err := parseValue(value)
		if err != nil {
			return err
		}
		has++
		if key == "user" {
			l.User = *v
		} else {
			l.Password = *v
		}
		return nil
	})
	if err == nil && has != 2 {
		err = yamlkeys.Errorf(node, "want user and password")
	}
	return l, err
}

// parseNetrc parses true, or the path of a netrc file.
func parseNetrc(node *yaml.Node) (string, error) {
	if node.Kind == yaml.ScalarNode && node.Tag != "!!bool" {
		name, err := plain(node)
		return atHome(name), err
	}
	is, err := flag(node)
	if err == nil && !is {
		err = yamlkeys.Errorf(node, "want true or the path of a netrc file")
	}
	if err != nil {
		return "", err
	}
	return defaultNetrc()
}

func parseEarthdata(node *yaml.Node) (*Earthdata, error) {
	login, _ := url.Parse(earthdataLogin) // it is valid
	e := &Earthdata{Login: login}
	if node.Kind == yaml.ScalarNode {
		if is, err := flag(node); err != nil || !is {
			return nil, yamlkeys.Errorf(node, "want true, or a mapping with some of: login, user, password, netrc, token")
		}
		return e, e.addDefaults()
	}
	var user Login
	var has int
	err := fields(node, []string{"login", "user", "password", "netrc", "token"}, func(key string, value *yaml.Node) (err error) {
		var v *Value
		switch key {
		case "login":
			e.Login, err = parseLoginHost(value)
			return err
		case "netrc":
			e.Netrc, err = parseNetrc(value)
			return err
		}
		if v, err = parseValue(value); err != nil {
			return err
		}
		switch key {
		case "user":
			user.User, has = *v, has+1
		case "password":
			user.Password, has = *v, has+1
		case "token":
			e.Token = v
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case has == 1:
		return nil, yamlkeys.Errorf(node, "want both user and password, or neither")
	case has == 2 && e.Netrc != "":
		return nil, yamlkeys.Errorf(node, "want user and password, or netrc")
	case has == 2:
		e.User = &user
	}
	return e, e.addDefaults()
}

// addDefaults takes what an entry does not have from the variables of NASA's tools, or else from the netrc file.
func (e *Earthdata) addDefaults() (err error) {
	if e.User != nil || e.Netrc != "" || e.Token != nil {
		return nil
	}
	if os.Getenv("EARTHDATA_TOKEN") != "" {
		e.Token = &Value{env: "EARTHDATA_TOKEN"}
	}
	if os.Getenv("EARTHDATA_USERNAME") != "" {
		e.User = &Login{Value{env: "EARTHDATA_USERNAME"}, Value{env: "EARTHDATA_PASSWORD"}}
		return nil
	}
	e.Netrc, err = defaultNetrc()
	return err
}

// parseLoginHost parses the address of a login host. Passwords go there, so it must be encrypted or be this machine.
func parseLoginHost(node *yaml.Node) (*url.URL, error) {
	u, err := object.Endpoint("login", node.Value)
	if err != nil {
		return nil, yamlkeys.Errorf(node, "%w", err)
	}
	if u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return nil, yamlkeys.Errorf(node, "the login host must be https://")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func parseS3(node *yaml.Node) (*S3, error) {
	s := &S3{}
	err := fields(node, []string{"profile", "region", "endpoint", "requester_pays", "anonymous", "credentials_url"}, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "requester_pays":
			s.RequesterPays, err = flag(value)
			return err
		case "anonymous":
			s.Anonymous, err = flag(value)
			return err
		}
		text, err := plain(value)
		if err != nil {
			return err
		}
		switch key {
		case "profile":
			s.Profile = text
		case "region":
			s.Region = text
		case "endpoint":
			if s.Endpoint, err = object.Endpoint("endpoint", text); err != nil {
				err = yamlkeys.Errorf(value, "%w", err)
			}
		case "credentials_url":
			var u *url.URL
			s.CredentialsURL = text
			u, err = url.Parse(text)
			if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
				err = yamlkeys.Errorf(value, "credentials_url must be a URL like https://host/path without a user")
			}
		}
		return err
	})
	if err == nil {
		err = s.check()
		if err != nil {
			err = yamlkeys.Errorf(node, "%w", err)
		}
	}
	return s, err
}

func (s *S3) check() error {
	n := 0
	for _, is := range []bool{s.Profile != "", s.Anonymous, s.CredentialsURL != ""} {
		if is {
			n++
		}
	}
	if n > 1 {
		return errors.New("want one of profile, anonymous and credentials_url")
	}
	return nil
}
