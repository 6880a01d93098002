package main

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// A recipe is a YAML file of options, as --config reads it. Its first comment says in one line for which
// files it is.
//
//go:embed recipes/*.yaml
var recipeFiles embed.FS

func newRecipesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recipes [NAME]",
		Short: "List recipes: options for the files of common products",
		Long: `List the recipes that --recipe of check, build and append takes, or print the options of one. They
are a file for --config, so a recipe with a change of yours begins with "varve recipes NAME > my.yaml".`,
		Example: `  varve recipes
  varve recipes argo`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return recipeNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				text, err := recipeText(args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			}
			for _, name := range recipeNames() {
				text, err := recipeText(name)
				if err != nil {
					return err
				}
				says, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", name, says); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// recipeNames returns the names of all recipes.
func recipeNames() (names []string) {
	entries, _ := recipeFiles.ReadDir("recipes") // the folder is part of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// recipeText returns the YAML of a recipe.
func recipeText(name string) (string, error) {
	if names := recipeNames(); !slices.Contains(names, name) {
		return "", usageError{fmt.Errorf("no recipe is called %q.%s varve recipes lists them", name, plan.DidYouMean(name, names))}
	}
	text, err := recipeFiles.ReadFile(path.Join("recipes", name+".yaml"))
	return string(text), err
}

// takeRecipe sets flags from the recipe of --recipe. Lists are added to those of the command line; other
// flags of the command line take precedence. What the recipe names need not be in the files.
func (o *combineOptions) takeRecipe(cmd *cobra.Command) error {
	if o.recipe == "" {
		return nil
	}
	text, err := recipeText(o.recipe)
	if err != nil {
		return err
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return fmt.Errorf("recipe %s: %w", o.recipe, err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue // scan has no options of plans
		}
		// Values of the command line stay in lists, because Set appends to them.
		if _, isList := flag.Value.(pflag.SliceValue); isList {
			flag.Changed = false
		}
		if err := setFlag(cmd.Flags(), name, &value); err != nil {
			return fmt.Errorf("recipe %s: %s: %w", o.recipe, name, err)
		}
		for _, item := range append([]*yaml.Node{&value}, value.Content...) {
			word := item.Value
			if name == "concat" {
				word, _, _ = strings.Cut(word, "=")
			}
			o.optional = append(o.optional, report.Setting{Option: report.Option(name), Value: word})
		}
	}
	return nil
}
