package engine

import (
	"context"
	"time"

	"varve/manifest"
)

// sourceAnswer describes the scanned version of a source.
type sourceAnswer struct {
	URL      string     `json:"url"`
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"`
	ETag     string     `json:"etag,omitempty"`
}

type sourcesAnswer struct {
	Sources []sourceAnswer `json:"sources"`
	Next    int64          `json:"next,omitempty"` // the start of the next request; 0 at the end
}

// sources answers with some of the sources, in the order of the scan.
func (s *Server) sources(ctx context.Context, l *link, b *body, done func()) error {
	handle, start, most := b.u32(), b.i64(), b.i64()
	err := b.end()
	var answer sourcesAnswer
	if err == nil {
		answer, err = s.sourcesFrom(ctx, handle, start, most)
	}
	done()
	if err != nil {
		return s.fail(l, err)
	}
	return s.say(l, answer)
}

func (s *Server) sourcesFrom(ctx context.Context, handle uint32, start, most int64) (answer sourcesAnswer, err error) {
	answer.Sources = []sourceAnswer{}
	at, err := s.datasets.get(ctx, handle)
	if err != nil {
		return answer, err
	}
	defer s.datasets.release(at)
	rows := at.store.Snapshot().Rows(manifest.Sources)
	for row := max(start, 0); row < rows; row++ {
		if int64(len(answer.Sources)) >= most {
			answer.Next = row
			break
		}
		src, err := at.store.Source(ctx, row)
		if err != nil {
			return answer, err
		}
		answer.Sources = append(answer.Sources, answerOf(src))
	}
	return answer, nil
}

func answerOf(src manifest.Source) sourceAnswer {
	one := sourceAnswer{URL: src.URL, Size: src.Size, ETag: src.ETag}
	if !src.Modified.IsZero() {
		one.Modified = &src.Modified
	}
	return one
}
