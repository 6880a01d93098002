package ingest

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/readers/source"
)

// The kinds of saved results, and where they have the addresses of files:
//
//	STAC  an ItemCollection, or an Item        features[].assets.KEY.href
//	CMR   granules.umm_json                    items[].umm.RelatedUrls[] with a Type
//	CMR   granules.json                        feed.entry[].links[] with a rel, such as …/fedsearch/1.1/data#

// maxSearchBytes limits the size of a saved result. A page of CMR has up to 2,000 items of about 5 KiB.
const maxSearchBytes = 256 << 20

// found is a file that an item of a search result names.
type found struct {
	kind string // the key of an asset, or the type of a link
	role string // other words for it: "data" or "s3"
	href string
}

// searchItem is an item of a search result.
type searchItem struct {
	id    string
	files []found
	base  string // the address of the item itself, for relative addresses
}

// searchResult is a page of a search result.
type searchResult struct {
	items []searchItem
	total int64 // items of all pages, or 0 if it is not known
	more  bool  // another page follows
}

// searches returns the files of all saved search results.
func (s *Sources) searches() ([]string, error) {
	var out []string
	var count, total int64
	more := ""
	seen := map[string]bool{}
	for _, name := range s.Searches {
		page, err := readSearch(name)
		if err != nil {
			return nil, fmt.Errorf("search result %s: %w", name, err)
		}
		count, total = count+int64(len(page.items)), max(total, page.total)
		if page.more && page.total == 0 && len(s.Searches) == 1 {
			more = name
		}
		for i := range page.items {
			files, err := s.filesOf(&page.items[i])
			if err != nil {
				return nil, fmt.Errorf("search result %s: item %q: %w", name, page.items[i].id, err)
			}
			for _, file := range files {
				if !seen[file] { // pages of a search overlap if items were added meanwhile
					seen[file] = true
					out = append(out, file)
				}
			}
		}
	}
	switch {
	case count < total:
		return nil, fmt.Errorf("search result %s: it has %d of %d items; give the other pages of the search too: %w",
			strings.Join(s.Searches, ", "), count, total, fs.ErrInvalid)
	case more != "":
		return nil, fmt.Errorf("search result %s: another page follows it (links, next); give all pages of the search: %w", more, fs.ErrInvalid)
	}
	return out, nil
}

// filesOf returns the addresses of the files of an item that Asset and Match choose.
func (s *Sources) filesOf(item *searchItem) ([]string, error) {
	want := s.Asset
	if want == "" {
		want = "data"
	}
	exact := func(f found) bool { return strings.EqualFold(f.kind, want) }
	chosen := exact
	if !slices.ContainsFunc(item.files, exact) {
		chosen = func(f found) bool { return strings.EqualFold(f.role, want) }
	}
	out, kinds, err := item.choose(chosen, s.matches)
	if len(out) == 0 && err == nil {
		out, kinds, err = item.choose(chosen, func(base string) (bool, error) { return source.IsArchive(base), nil })
		s.addArchives(out)
	}
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, fmt.Errorf("no file of the kind %q%s; it has %s: %w", want, s.matching(), item.kinds(), fs.ErrNotExist)
	case len(kinds) > 1 && s.Asset == "":
		return nil, fmt.Errorf("several files could be meant: %s; name the asset to read: %w", strings.Join(kinds, ", "), fs.ErrInvalid)
	}
	return out, nil
}

// choose returns the addresses and the kinds of the chosen files whose names are wanted.
func (item *searchItem) choose(chosen func(found) bool, isWanted func(base string) (bool, error)) (out, kinds []string, err error) {
	for _, f := range item.files {
		if !chosen(f) {
			continue
		}
		name, err := item.resolve(f.href)
		if err != nil {
			return nil, nil, err
		}
		is, err := isWanted(baseOf(name))
		if err != nil {
			return nil, nil, err
		}
		if is && !slices.Contains(out, name) {
			out = append(out, name)
			if !slices.Contains(kinds, f.kind) {
				kinds = append(kinds, f.kind)
			}
		}
	}
	return out, kinds, nil
}

func (s *Sources) matching() string {
	if s.Match == "" {
		return ""
	}
	return " whose name matches " + s.Match
}

// kinds returns the kinds of files of an item, for messages.
func (item *searchItem) kinds() string {
	var list []string
	for _, f := range item.files {
		if !slices.Contains(list, f.kind) {
			list = append(list, f.kind)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// baseOf returns the name of the file at an address, without its folders and its query.
func baseOf(name string) string {
	if u, err := source.ParseURL(name); err == nil && source.IsURL(name) {
		return path.Base(u.Path)
	}
	return path.Base(filepath.ToSlash(name))
}

// resolve returns the absolute address of a file. Local paths are refused: whoever made the result must not choose files of
// this machine.
func (item *searchItem) resolve(href string) (string, error) {
	if href == "" {
		return "", fmt.Errorf("a file has no address: %w", fs.ErrInvalid)
	}
	name := href
	if !source.IsURL(href) {
		base, err := url.Parse(item.base)
		if err != nil || base.Host == "" {
			return "", fmt.Errorf("the address %q is relative, and the item has no address itself (links, self): %w", href, fs.ErrInvalid)
		}
		u, err := base.Parse(href)
		if err != nil {
			return "", fmt.Errorf("the address %q is not valid: %w", href, fs.ErrInvalid)
		}
		name = u.String()
	}
	scheme, _, _ := strings.Cut(strings.ToLower(name), "://")
	if scheme == "file" || scheme == "local" {
		return "", fmt.Errorf("the address %q is a file of this machine; give such files themselves: %w", href, source.ErrForbidden)
	}
	return name, nil
}

// searchDocument has the fields of all formats.
type searchDocument struct {
	// STAC
	Type          string      `json:"type"`
	Features      []stacItem  `json:"features"`
	NumberMatched int64       `json:"numberMatched"`
	Context       stacContext `json:"context"`
	Links         []stacLink  `json:"links"`
	// CMR, umm_json
	Hits  int64     `json:"hits"`
	Items []ummItem `json:"items"`
	// CMR, json
	Feed *struct {
		Entry []cmrEntry `json:"entry"`
	} `json:"feed"`
}

type stacContext struct {
	Matched int64 `json:"matched"`
}

type stacLink struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

type stacItem struct {
	ID     string     `json:"id"`
	Links  []stacLink `json:"links"`
	Assets map[string]struct {
		Href  string   `json:"href"`
		Roles []string `json:"roles"`
	} `json:"assets"`
}

type ummItem struct {
	Meta struct {
		ID string `json:"concept-id"`
	} `json:"meta"`
	UMM struct {
		RelatedURLs []struct {
			URL  string `json:"URL"`
			Type string `json:"Type"`
		} `json:"RelatedUrls"`
	} `json:"umm"`
}

type cmrEntry struct {
	ID    string `json:"id"`
	Links []struct {
		Rel       string `json:"rel"`
		Href      string `json:"href"`
		Inherited bool   `json:"inherited"` // a link of the collection
	} `json:"links"`
}

// readSearch reads a saved search result.
func readSearch(name string) (*searchResult, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSearchBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSearchBytes {
		return nil, fmt.Errorf("larger than %d bytes, the limit", maxSearchBytes)
	}
	return parseSearch(text)
}

func parseSearch(text []byte) (*searchResult, error) {
	var doc searchDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("not a search result: %w", err)
	}
	out := &searchResult{}
	switch {
	case doc.Type == "FeatureCollection":
		out.total = max(doc.NumberMatched, doc.Context.Matched)
		out.more = slices.ContainsFunc(doc.Links, func(l stacLink) bool { return l.Rel == "next" })
		for i := range doc.Features {
			out.items = append(out.items, doc.Features[i].item())
		}
	case doc.Type == "Feature" || doc.Type == "Collection":
		var one stacItem
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("not a STAC item or collection: %w", err)
		}
		out.items = append(out.items, one.item())
	case doc.Feed != nil:
		for i := range doc.Feed.Entry {
			out.items = append(out.items, doc.Feed.Entry[i].item())
		}
	case doc.Items != nil:
		out.total = doc.Hits
		for i := range doc.Items {
			out.items = append(out.items, doc.Items[i].item())
		}
	default:
		return nil, fmt.Errorf("not a search result: want a STAC ItemCollection, Item or Collection, or granules.umm_json or granules.json of CMR: %w", fs.ErrInvalid)
	}
	return out, nil
}

func (i *stacItem) item() searchItem {
	out := searchItem{id: i.ID}
	for _, l := range i.Links {
		if l.Rel == "self" {
			out.base = l.Href
		}
	}
	for key, a := range i.Assets {
		f := found{kind: key, href: a.Href}
		if slices.Contains(a.Roles, "data") {
			f.role = "data"
		}
		out.files = append(out.files, f)
	}
	slices.SortFunc(out.files, func(a, b found) int { return strings.Compare(a.kind, b.kind) })
	return out
}

// ummRoles are the short words for types of links in umm_json.
var ummRoles = map[string]string{"GET DATA": "data", "GET DATA VIA DIRECT ACCESS": "s3"}

func (i *ummItem) item() searchItem {
	out := searchItem{id: i.Meta.ID}
	for _, u := range i.UMM.RelatedURLs {
		out.files = append(out.files, found{kind: u.Type, role: ummRoles[u.Type], href: u.URL})
	}
	return out
}

func (i *cmrEntry) item() searchItem {
	out := searchItem{id: i.ID}
	for _, l := range i.Links {
		if !l.Inherited {
			out.files = append(out.files, found{kind: strings.TrimSuffix(path.Base(l.Rel), "#"), href: l.Href})
		}
	}
	return out
}
