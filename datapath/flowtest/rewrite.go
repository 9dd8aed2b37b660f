package flowtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Rewrite puts the updates, all of the file at path, into it: for a person to review.
func Rewrite(path string, updates []Update) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("flowtest: %w", err)
	}
	lines := strings.Split(string(b), "\n")
	updates = slices.Clone(updates)
	slices.SortFunc(updates, func(a, b Update) int { return b.First - a.First })
	for _, u := range updates {
		var in []string
		for _, l := range u.Lines {
			in = append(in, "  "+l)
		}
		lines = slices.Replace(lines, u.First-1, max(u.First-1, u.Last), in...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return fmt.Errorf("flowtest: %w", err)
	}
	return nil
}
