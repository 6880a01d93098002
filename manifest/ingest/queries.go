package ingest

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/readers/source"
)

// expand returns the names of the sources as the manifest stores them. The opener remembers the whole URLs.
func (opts *Options) expand(ctx context.Context) ([]string, error) {
	names, err := opts.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	return opts.stored(names)
}

// stored returns the names under which a manifest stores sources. It refuses URLs that would have the same name, although the
// parameters of their queries differ.
func (opts *Options) stored(names []string) ([]string, error) {
	hasQuery := func(name string) bool { return source.IsURL(name) && strings.Contains(name, "?") }
	if !slices.ContainsFunc(names, hasQuery) {
		return names, nil
	}
	// URLs without parameters first, so that these and others of the same name are compared, too.
	bare := map[string]bool{}
	for _, name := range names {
		if source.IsURL(name) && !hasQuery(name) {
			bare[scan.URLOf(name)] = true
		}
	}
	out := slices.Clone(names)
	var same, parameters []string
	for i, name := range names {
		if !hasQuery(name) || opts.Opener.Remembers(name) {
			continue
		}
		var err error
		out[i], err = opts.Opener.Remember(name, opts.Plan.KeepQuery)
		var e *source.SameNameError
		switch {
		case errors.As(err, &e):
			same, parameters = append(same, out[i]), append(parameters, e.Parameters...)
		case err != nil:
			return nil, err
		case bare[out[i]]:
			if differ := opts.Opener.NotStored(out[i]); len(differ) > 0 {
				same, parameters = append(same, out[i]), append(parameters, differ...)
			}
		}
	}
	if len(same) == 0 {
		return out, nil
	}
	return nil, &plan.Error{Findings: []report.Finding{queryFinding(report.QueryNeeded, report.Refused, same, parameters)}}
}

// queryFinding returns a finding about parameters that are not stored. If it is a refusal, its remedies store them.
func queryFinding(code report.Code, effect report.Effect, names, parameters []string) report.Finding {
	parameters = slices.Compact(slices.Sorted(slices.Values(parameters)))
	f := report.Finding{Code: code, Effect: effect, Files: report.Named(names...), Count: int64(len(names)), Args: report.Args{"parameters": parameters}}
	if effect != report.Refused {
		return f // storing a secret is no improvement
	}
	for _, p := range parameters {
		f.Remedies = append(f.Remedies, report.Do(report.KeepQuery, p, report.StoresQuery))
	}
	return f
}

// noteQueries adds a finding that lists the parameters of the new files that are not stored. It refuses files to which their
// stored names do not lead. Files on one server with the same parameters are tried with one request.
func (j *job) noteQueries(ctx context.Context, r *report.Report) error {
	var names, parameters []string
	tried := map[string]bool{}
	isProtected := false
	for _, f := range j.files {
		if !source.IsURL(f.URL) {
			continue
		}
		without := j.opts.Opener.NotStored(f.URL)
		if len(without) == 0 {
			continue
		}
		names, parameters = append(names, f.URL), append(parameters, without...)
		u, err := url.Parse(source.Outer(f.URL))
		if err != nil {
			return err
		}
		group := u.Host + "?" + strings.Join(without, "&")
		if tried[group] {
			continue
		}
		tried[group] = true
		err = j.opts.Opener.CheckStored(ctx, f.URL, f.Identity())
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		// Other credentials, such as those of an access file, can replace the parameter.
		case errors.Is(err, fs.ErrPermission):
			isProtected = true
		default:
			refused := queryFinding(report.QueryNeeded, report.Refused, []string{f.URL}, without)
			refused.Args["reason"] = reasonOf(scan.Broken{URL: f.URL, Err: err})
			return &plan.Error{Findings: []report.Finding{refused}}
		}
	}
	if len(names) > 0 {
		f := queryFinding(report.QueryNotStored, report.Noted, names, parameters)
		f.Args["protected"] = isProtected
		r.Add(f)
	}
	return nil
}

// noteStored adds a finding about parameters in the stored names of files of an older snapshot, which may be secrets.
func (j *job) noteStored(files []*manifest.File, r *report.Report) {
	var names, parameters []string
	for _, f := range files {
		if found := source.Secrets(f.URL, j.opts.Plan.KeepQuery); len(found) > 0 {
			names, parameters = append(names, source.Stored(f.URL, j.opts.Plan.KeepQuery)), append(parameters, found...)
		}
	}
	if len(names) > 0 {
		f := queryFinding(report.QueryStored, report.Noted, names, parameters)
		f.Remedies = []report.Remedy{report.Do(report.Force, "", "")}
		r.Add(f)
	}
}

// keepQuery adds the parameters that a manifest stores already to those of the options.
func (opts *Options) keepQuery(built *plan.Options) []string {
	all := slices.Clone(built.KeepQuery)
	for _, name := range opts.Plan.KeepQuery {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
