package grib

import (
	"cmp"
	"slices"
	"time"

	"varve/readers"
)

// Times says by which times the fields of a dataset are placed. Empty means ReferenceTimes.
type Times string

// The values of Times.
const (
	ReferenceTimes Times = "reference" // time is the reference time, and step the lead time
	ValidTimes     Times = "valid"     // time is the time at which a field is valid, and there is no dimension step
)

// place moves a field to the time at which it is valid, if the times are those.
func (t Times) place(p *place) {
	if t == ValidTimes {
		p.time += int64(p.step / time.Second)
		p.lead, p.step = p.step, 0
	}
}

// byLead sorts the fields of all cubes by lead time. Of fields with equal coordinates, the first is read.
func (g *gridGroup) byLead() {
	for _, c := range g.cubes {
		slices.SortStableFunc(c.fields, func(x, y placedField) int { return cmp.Compare(x.lead, y.lead) })
	}
}

// leads returns the lead time of the fields at each time of a hypercube, or nil if fields at one time differ.
func (h *hypercube) leads() []time.Duration {
	at := map[float64]time.Duration{}
	for _, c := range h.cubes {
		seen := map[[axes]float64]bool{}
		for i := range c.fields {
			x := &c.fields[i]
			place := c.coordinates(x)
			if seen[place] {
				continue // the field is not read
			}
			seen[place] = true
			if lead, ok := at[float64(x.time)]; ok && lead != x.lead {
				return nil
			}
			at[float64(x.time)] = x.lead
		}
	}
	out := make([]time.Duration, len(h.along[timeAxis]))
	for i, t := range h.along[timeAxis] {
		out[i] = at[t]
	}
	return out
}

// validTimes adds the coordinate of valid times, and the lead times and reference times along it if all fields at a time have the same.
func (b *builder) validTimes(gb *groupBuilder, h *hypercube, d *readers.Dimension) {
	times := whole(h.along[timeAxis])
	dims := []*readers.Dimension{d}
	gb.inline("time", dims, integerType, integers(times), timeAttributes("time", "time")...)
	leads := h.leads()
	if leads == nil {
		return
	}
	hours, runs := make([]float64, len(times)), make([]int64, len(times))
	for i, lead := range leads {
		hours[i], runs[i] = lead.Hours(), times[i]-int64(lead/time.Second)
	}
	gb.inline("step", dims, doubleType, doubles(hours), stepAttributes...)
	gb.inline("forecast_reference_time", dims, integerType, integers(runs), timeAttributes("forecast_reference_time", "initial time of forecast")...)
}

// stepAttributes has the attributes of lead times.
var stepAttributes = []readers.Attribute{textAttribute("standard_name", "forecast_period"), textAttribute("long_name", "time since forecast_reference_time"),
	textAttribute("units", "hours")}
