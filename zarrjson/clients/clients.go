// Package clients says which Zarr clients read which features of an array: its format, chunk grid, data type and
// codecs. The table in clients.json is the result of running the clients; TestInteropClients in manifest/export/zarr
// makes it.
package clients

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"varve/codec"
	"varve/zarrjson"
)

// A Feature is a part of an array's document that a client must know, such as "3 codec zstd" or "2 type <i4". The number
// is the Zarr format.
type Feature string

// Outcome is what a client made of an array with a feature.
type Outcome string

// The outcomes.
const (
	Reads   Outcome = "reads"
	Refuses Outcome = "refuses"
	Wrong   Outcome = "wrong"   // it returned other values
	Crashes Outcome = "crashes" // the process ended
)

// Client is a program that reads Zarr.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Table has the outcomes of all clients.
type Table struct {
	Clients  []Client                       `json:"clients"`
	Features map[Feature]map[string]Outcome `json:"features"` // then by client
}

//go:embed clients.json
var recorded []byte

// Known returns the recorded table. It must not be changed.
var Known = sync.OnceValue(func() *Table {
	t := &Table{}
	if err := json.Unmarshal(recorded, t); err != nil {
		panic("clients: " + err.Error()) // embedded: a build that has it damaged is of no use
	}
	return t
})

// Lacks returns the features that a client does not read, or with which it was not run.
func (t *Table) Lacks(client string, features []Feature) (lacks []Feature) {
	for _, f := range features {
		if t.Features[f][client] != Reads {
			lacks = append(lacks, f)
		}
	}
	return lacks
}

// ReadsFormat reports whether a client reads any array in a Zarr format.
func (t *Table) ReadsFormat(client, format string) bool {
	for f, outcomes := range t.Features {
		if strings.HasPrefix(string(f), format+" ") && outcomes[client] == Reads {
			return true
		}
	}
	return false
}

// Features returns the features of an array in format 3.
func Features(a *zarrjson.Array) []Feature {
	features := []Feature{Feature("3 grid " + string(a.ChunkGrid.Name)), Feature("3 type " + a.DataType.Name())}
	if t := a.DataType.Type(); t.Kind == codec.Raw {
		features[1] = "3 type r*"
	}
	return unique(append(features, codecFeatures(a.Codecs)...))
}

func codecFeatures(specs []codec.Spec) (features []Feature) {
	for _, s := range specs {
		name := Feature("3 codec " + s.Name)
		if order, ok := s.ByteOrder(); ok && order == codec.BigEndian {
			name += ", big-endian"
		}
		features = append(features, name)
		if s.IsSharding() {
			if shards, err := s.ShardingConfig(); err == nil {
				features = append(features, codecFeatures(shards.Codecs)...)
			}
		}
	}
	return features
}

// FeaturesV2 returns the features of an array in format 2.
func FeaturesV2(a *zarrjson.V2Array) ([]Feature, error) {
	data, err := a.Encode(zarrjson.Compact)
	if err != nil {
		return nil, err
	}
	var document struct {
		Type       json.RawMessage       `json:"dtype"`
		Order      string                `json:"order"`
		Filters    []struct{ ID string } `json:"filters"`
		Compressor *struct{ ID string }  `json:"compressor"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf(".zarray: %w", err)
	}
	features := []Feature{"2 type struct"}
	var name string
	if json.Unmarshal(document.Type, &name) == nil {
		features[0] = Feature("2 type " + strings.TrimRight(name, "0123456789") + widthOf(name))
	}
	if document.Order == "F" {
		features = append(features, "2 order F")
	}
	for _, f := range document.Filters {
		features = append(features, Feature("2 codec "+f.ID))
	}
	if document.Compressor != nil {
		features = append(features, Feature("2 codec "+document.Compressor.ID))
	}
	return unique(features), nil
}

// widthOf returns the digits at the end of the name of a number's type. Texts of all lengths are one feature.
func widthOf(name string) string {
	if len(name) > 1 && strings.ContainsRune("SUV", rune(name[1])) {
		return ""
	}
	return name[len(strings.TrimRight(name, "0123456789")):]
}

func unique(features []Feature) []Feature {
	slices.Sort(features)
	return slices.Compact(features)
}
