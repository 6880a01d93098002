package points

import (
	"context"
	"iter"

	"golang.org/x/sync/semaphore"

	"varve/manifest/internal/table"
)

// decoded is a chunk with its access points.
type decoded struct {
	*table.ChunkPoints
	Size  int64 // bytes of its elements
	array int
}

// outcome is the result of decoding a chunk.
type outcome struct {
	points *table.ChunkPoints
	err    error
}

// maxWaiting limits the chunks that are decoded and wait for an earlier one.
const maxWaiting = 64

// decode decodes chunks concurrently, and yields their access points in order. It ends with the first error.
func (m *maker) decode(ctx context.Context, chunks []found) iter.Seq2[decoded, error] {
	return func(yield func(decoded, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		room := semaphore.NewWeighted(m.Memory / 2)
		workers := make(chan struct{}, m.Workers)
		waiting := make(chan chan outcome, maxWaiting)
		go func() {
			defer close(waiting)
			for _, c := range chunks {
				// A chunk that is larger than the limit takes all of the memory.
				weight := min(c.Size+c.Bytes(), m.Memory/2)
				if room.Acquire(ctx, weight) != nil {
					return
				}
				result := make(chan outcome, 1)
				waiting <- result // the receiver takes all of them, even after an error
				workers <- struct{}{}
				go func() {
					points, err := c.FindPoints(ctx, m.Every)
					<-workers
					room.Release(weight)
					result <- outcome{points, err}
				}()
			}
		}()
		done, more := int64(0), true
		for result := range waiting {
			r := <-result
			if !more {
				continue // only wait for those that had begun
			}
			// Chunks may have been decoded long before an interrupt: do not write more of them.
			if r.err == nil {
				r.err = ctx.Err()
			}
			c := chunks[done]
			if more = yield(decoded{r.points, c.Size, c.array}, r.err) && r.err == nil; !more {
				cancel()
				continue
			}
			if done++; m.Progress != nil {
				m.Progress(done, int64(len(chunks)))
			}
		}
		if err := ctx.Err(); err != nil && more && done < int64(len(chunks)) {
			yield(decoded{}, err)
		}
	}
}
