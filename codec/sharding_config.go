package codec

import (
	"encoding/json"
	"fmt"
)

const shardingName = "sharding_indexed"

// ShardingConfig is the configuration of sharding_indexed: the chunks in each shard, and its index.
type ShardingConfig struct {
	ChunkShape    []int64 `json:"chunk_shape"`
	Codecs        []Spec  `json:"codecs"`
	IndexCodecs   []Spec  `json:"index_codecs"`   // nil: IndexCodecs
	IndexLocation string  `json:"index_location"` // "start" or "end"; "" is "end"
}

// Spec returns the codec that makes the shards.
func (s *ShardingConfig) Spec() (Spec, error) {
	whole := *s
	if whole.IndexCodecs == nil {
		whole.IndexCodecs = IndexCodecs()
	}
	if whole.IndexLocation == "" {
		whole.IndexLocation = "end"
	}
	config, err := json.Marshal(whole)
	return Spec{Name: shardingName, Config: config}, err
}

// IsSharding reports whether the codec is sharding_indexed.
func (s Spec) IsSharding() bool { return s.Name == shardingName }

// ShardingConfig returns the configuration of sharding_indexed. New checks it.
func (s Spec) ShardingConfig() (*ShardingConfig, error) {
	shards := &ShardingConfig{}
	if err := json.Unmarshal(s.Config, shards); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return shards, nil
}
