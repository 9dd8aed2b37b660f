package ovsdb

import (
	"encoding/json"
	"fmt"
)

// Error is an OVSDB <error> object (RFC 7047 section 3.1) as ovsdb-server
// spells it.
type Error struct {
	Tag     string // "constraint violation", "timed out", ...
	Details string
	Syntax  string // the JSON that could not be used, if that is the reason
}

// Error gives "tag: details".
func (e *Error) Error() string {
	if e.Details == "" {
		return e.Tag
	}
	return e.Tag + ": " + e.Details
}

// MarshalJSON gives the wire form.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Details string `json:"details,omitempty"`
		Error   string `json:"error"`
		Syntax  string `json:"syntax,omitempty"`
	}{e.Details, e.Tag, e.Syntax})
}

func newError(tag, format string, args ...any) *Error {
	return &Error{Tag: tag, Details: fmt.Sprintf(format, args...)}
}

// syntaxError blames the JSON value v. tag is "syntax error" if empty.
func syntaxError(v any, tag, format string, args ...any) *Error {
	if tag == "" {
		tag = "syntax error"
	}
	e := newError(tag, format, args...)
	e.Syntax = Canonical(v)
	return e
}

func violation(format string, args ...any) *Error {
	return newError("constraint violation", format, args...)
}
