// Package lint is the project's rules for its own source, as tests: who may import
// whom, where unsafe may stand, how long a file may be, how code is formatted, and
// what golangci-lint and staticcheck find. "go test ./internal/lint" is all of it.
//
// It has no code but tests, and knows nothing of what the source does.
package lint
