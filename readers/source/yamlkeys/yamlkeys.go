// Package yamlkeys reads the mappings of YAML files key by key, with errors that name the line.
package yamlkeys

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Errorf returns an error about a node.
func Errorf(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", node.Line, fmt.Errorf(format, args...))
}

// Each calls use for each key of a mapping. use returns an error for a key that it does not know. The error for a node that
// is no mapping lists the known keys, if there are some. Errors quote no text that use has not accepted, since it may be
// a secret.
func Each(node *yaml.Node, known []string, use func(key, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		list := ""
		if len(known) > 0 {
			list = " with some of " + strings.Join(known, ", ")
		}
		return Errorf(node, "want a mapping%s", list)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			return Errorf(key, "a key must be a name")
		}
		if seen[key.Value] {
			return Errorf(key, "%s is given twice", key.Value)
		}
		seen[key.Value] = true
		if err := use(key, value); err != nil {
			return err
		}
	}
	return nil
}
