package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// kind classifies answers for the metrics.
type kind uint8

const (
	kindOther kind = iota
	kindDocument
	kindVerbatim
	kindInline
	kindReencoded
	kindMissing
	kindPage
	kindPlot
	kindFile
	kindData
	kinds
)

func (k kind) String() string {
	return [kinds]string{"other", "document", "verbatim", "inline", "re-encoded", "missing", "page", "plot", "file", "data"}[k]
}

// scrapesAtOnce limits the number of concurrent requests for the metrics.
const scrapesAtOnce = 4

// metrics counts requests and answers for Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	verbatim map[int]prometheus.Counter // counters of the most frequent answers, by status
	seconds  [kinds]prometheus.Observer
	bytes    [kinds]prometheus.Counter
	busy     prometheus.Gauge
	loads    *prometheus.CounterVec
	arrays   *prometheus.GaugeVec
	held     *prometheus.GaugeVec
	disk     *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "varve_http_requests_total", Help: "Answers, by kind and status."}, []string{"kind", "code"}),
		busy:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "varve_http_requests_in_flight", Help: "Requests that are being answered."}),
		loads:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "varve_snapshot_loads_total", Help: "Attempts to open a snapshot, by result."}, []string{"result"}),
		arrays:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "varve_arrays", Help: "Arrays of a manifest."}, []string{"manifest"}),
		held:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "varve_snapshot_held", Help: "1 if the plain address still serves an older snapshot because the newest does not extend it."}, []string{"manifest", "path"}),
		disk:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "varve_disk_cache_requests_total", Help: "Chunks that were looked for in the disk cache, by result."}, []string{"result"}),
	}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "varve_http_request_seconds", Help: "Time to answer.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
	}, []string{"kind"})
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "varve_http_sent_bytes_total", Help: "Bytes of bodies."}, []string{"kind"})
	for k := range kinds {
		m.seconds[k] = seconds.WithLabelValues(k.String())
		m.bytes[k] = bytes.WithLabelValues(k.String())
	}
	m.verbatim = map[int]prometheus.Counter{}
	for _, status := range []int{http.StatusOK, http.StatusPartialContent, http.StatusNotModified} {
		m.verbatim[status] = m.requests.WithLabelValues(kindVerbatim.String(), strconv.Itoa(status))
	}
	m.registry.MustRegister(m.requests, m.busy, m.loads, m.arrays, m.held, m.disk, seconds, bytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce, Timeout: 10 * time.Second})
}

func (m *metrics) observe(rec *recorder, took time.Duration) {
	m.answers(rec.kind, rec.status).Inc()
	m.seconds[rec.kind].Observe(took.Seconds())
	m.bytes[rec.kind].Add(float64(rec.sent))
}

// answers returns the counter of a kind and status. Finding a counter by its labels takes longer than counting, so
// the most frequent counters are cached.
func (m *metrics) answers(k kind, status int) prometheus.Counter {
	if c := m.verbatim[status]; c != nil && k == kindVerbatim {
		return c
	}
	return m.requests.WithLabelValues(k.String(), strconv.Itoa(status))
}
