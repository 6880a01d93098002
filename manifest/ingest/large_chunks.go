package ingest

import (
	"varve/codec"
	"varve/manifest"
	"varve/manifest/report"
)

// addLargeChunks adds a finding for each array whose chunks are much faster to read in parts if they have access points.
func addLargeChunks(r *report.Report, arrays []manifest.Array) error {
	for i := range arrays {
		a := &arrays[i]
		g, err := a.Schema.Grid()
		if err != nil {
			return err
		}
		shape := make([]int64, g.Rank())
		for axis := range shape {
			for run := range g.Dim(axis).Runs() {
				shape[axis] = max(shape[axis], run.Edge.Codec)
			}
		}
		p, err := codec.New(a.Schema.Codecs, a.Schema.Form(shape))
		if err != nil || p.Form().CheckSize() != nil {
			continue // varve decodes no such chunk
		}
		size := int64(p.Form().Bytes())
		if size < codec.LeastIndexed(codec.DefaultSpan) || a.Chunks.Verbatim+a.Chunks.Prefix+a.Chunks.Reencoded == 0 ||
			p.CheckPoints() != nil || p.HasFewPoints() {
			continue
		}
		part := p.EstimatePoint(codec.DefaultSpan)
		if part > size/leastGain {
			continue
		}
		r.Add(report.Finding{Code: report.ChunksLarge, Effect: report.Noted, Array: a.Path, Args: report.Args{"chunk": size, "part": part},
			Remedies: []report.Remedy{report.Do(report.Index, "auto", report.ReadsParts)}})
	}
	return nil
}

// leastGain is how many times fewer bytes one element must decode, so that access points are suggested.
const leastGain = 4
