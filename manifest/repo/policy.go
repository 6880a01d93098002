package repo

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Policy says which snapshots stay when writers tidy a repository. Snapshots with tags always stay.
type Policy struct {
	Keep  int `json:"keep"`            // the number of newest snapshots to keep; 0 means all
	Daily int `json:"daily,omitempty"` // also the newest snapshot of each of this number of days
}

// Options returns the options with which GC keeps what the policy keeps.
func (p *Policy) Options() *GCOptions {
	keep := p.Keep
	if keep == 0 {
		keep = math.MaxInt
	}
	return &GCOptions{Keep: keep, Daily: p.Daily}
}

// String returns the policy in the form of the option that sets it.
func (p *Policy) String() string {
	text := "keep=all"
	if p.Keep > 0 {
		text = fmt.Sprint("keep=", p.Keep)
	}
	if p.Daily > 0 {
		text += fmt.Sprint(",daily=", p.Daily)
	}
	return text
}

// Policy returns the policy that the user set, or nil.
func (r *Repository) Policy(ctx context.Context) (*Policy, error) {
	p, err := r.pointer(ctx)
	return p.Policy, err
}

// SetPolicy lets writers tidy the repository: Publish then removes, at most once a day, the snapshots that the policy does not keep
// and the files that no other snapshot needs. Files of compacted chunks stay, because exports may refer to them: only GC removes
// these. nil ends that.
func (r *Repository) SetPolicy(ctx context.Context, policy *Policy) error {
	if policy != nil && (policy.Keep < 0 || policy.Daily < 0) {
		return fmt.Errorf("%s: a policy cannot keep %d snapshots and %d days", r.name, policy.Keep, policy.Daily)
	}
	return r.change(ctx, func(p *pointer) error {
		if p.Snapshot == "" {
			return fmt.Errorf("%s: has no snapshot yet", r.name)
		}
		p.Policy, p.Tidied = policy, ""
		return nil
	})
}

// tidyTime limits the time of one tidying. The next one continues.
const tidyTime = 20 * time.Second

// tidy removes what the policy does not keep, unless that was tried today. p is the pointer that this Repository has just published.
// An error is none of the user's: the snapshot is published, and gc says what is wrong.
func (r *Repository) tidy(ctx context.Context, p *pointer) {
	now := time.Now
	if r.now != nil {
		now = r.now
	}
	today := now().UTC().Format(time.DateOnly)
	if p.Policy == nil || p.Tidied == today {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	opts := p.Policy.Options()
	opts.tidied = today
	_, _ = r.GC(ctx, opts)
}
