package plan

func (p *planner) keepState() error { return nil }
