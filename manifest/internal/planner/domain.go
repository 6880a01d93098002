package planner

import (
	"slices"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/report"
)

// domain holds NEMO's DOMAIN_* attributes, by which a file says which tile of a mosaic it is.
type domain struct {
	ids, global, local, from []int64
}

// byDomains places files by their DOMAIN_* attributes along dimensions without coordinates. It
// ignores the attributes unless they match the dimension lengths of every file in exactly one way:
// the attributes survive when tools cut or merge the tiles, and are wrong then.
func (p *alignment) byDomains() {
	domains := map[int32]domain{}
	for f, c := range p.survey.classOf {
		if c < 0 {
			continue
		}
		d, ok := domainOf(groupAttributes(p.env.files[f]))
		if !ok {
			return
		}
		domains[int32(f)] = d
	}
	if len(domains) < 2 {
		return
	}
	dims := p.matchDomains(domains)
	if dims == nil {
		return
	}
	for k, d := range dims {
		p.placeDomain(d, domains, k)
	}
	p.env.find(p.env.odd(report.Finding{Code: report.OrderByDomain, Effect: report.Noted, Args: report.Args{"dims": dimList(dims)}}, sorted(domains), int64(len(domains))))
}

func domainOf(g *manifest.GroupAttributes) (d domain, ok bool) {
	for name, to := range map[string]*[]int64{"DOMAIN_dimensions_ids": &d.ids, "DOMAIN_size_global": &d.global,
		"DOMAIN_size_local": &d.local, "DOMAIN_position_first": &d.from} {
		a := coord.RootAttribute(g, name)
		if a == nil {
			return d, false
		}
		x, err := coord.ReadNumbers(&manifest.Variable{Path: name, Type: a.Type}, a.Data)
		if err != nil {
			return d, false
		}
		for i := range x.Len {
			*to = append(*to, int64(x.Real(i)))
		}
	}
	n := len(d.ids)
	return d, n > 0 && n < 4 && len(d.global) == n && len(d.local) == n && len(d.from) == n
}

// matchDomains returns the dimensions that the attributes mean, in their order, or nil. The lengths
// decide; if they fit several dimensions, the dimension numbers decide.
func (p *alignment) matchDomains(domains map[int32]domain) []*dim {
	var free []*dim
	for _, at := range p.dimOrder {
		if d := p.dims[at]; d.coord == "" && !d.named {
			free = append(free, d)
		}
	}
	n := -1
	for _, d := range domains {
		if n >= 0 && len(d.ids) != n {
			return nil
		}
		n = len(d.ids)
	}
	var ways, numbered [][]*dim
	for _, order := range choices(len(free), n) {
		dims := make([]*dim, n)
		for k, i := range order {
			dims[k] = free[i]
		}
		if p.fitDomains(dims, domains) {
			ways = append(ways, dims)
			if p.numberDomains(dims, domains) {
				numbered = append(numbered, dims)
			}
		}
	}
	if len(ways) > 1 {
		ways = numbered
	}
	if len(ways) != 1 {
		return nil
	}
	return ways[0]
}

// numberDomains reports whether the dimensions have the numbers in the attributes, which count the
// dimensions of a file from 1.
func (p *alignment) numberDomains(dims []*dim, domains map[int32]domain) bool {
	renamer := p.env.renamer()
	for f, d := range domains {
		all := p.survey.classes[p.survey.classOf[f]].header.Dimensions
		for k := range dims {
			if id := d.ids[k]; id < 1 || id > int64(len(all)) || renamer.Dim(all[id-1].Path) != dims[k].path {
				return false
			}
		}
	}
	return true
}

func (p *alignment) fitDomains(dims []*dim, domains map[int32]domain) bool {
	for f, d := range domains {
		for k := range dims {
			have, ok := p.survey.classes[p.survey.classOf[f]].dims[dims[k].path]
			if !ok || have.Length != d.local[k] || d.from[k] < 1 || d.from[k]-1+d.local[k] > d.global[k] {
				return false
			}
		}
	}
	return true
}

// choices lists the ordered selections of k out of n numbers.
func choices(n, k int) (all [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for _, rest := range choices(n, k-1) {
		for i := range n {
			if !slices.Contains(rest, i) {
				all = append(all, append(slices.Clone(rest), i))
			}
		}
	}
	return all
}

func (p *alignment) placeDomain(d *dim, domains map[int32]domain, k int) {
	// named prevents later stages from doubting that files are placed along this dimension.
	d.role, d.coords, d.named = flowing, nil, true
	same := map[[2]int64]int32{}
	for f := range p.survey.classOf {
		tile, ok := domains[int32(f)]
		if !ok {
			continue
		}
		d.length = max(d.length, tile.global[k])
		key := [2]int64{tile.from[k] - 1, tile.local[k]}
		n, ok := same[key]
		if !ok {
			n = int32(len(d.coords))
			same[key] = n
			d.coords = append(d.coords, &coord.Coord{Meaning: coord.Unknown, Course: coord.Course{Len: key[1]}, Start: key[0], File: int32(f)})
		}
		d.of[f] = n
		d.coords[n].Files++
	}
	d.order = slices.Clone(d.coords)
	slices.SortFunc(d.order, func(a, b *coord.Coord) int { return int(a.Start - b.Start) })
	d.by = byAttributes
}
