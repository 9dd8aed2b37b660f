package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// wireMessage is any message as it is read. Members that are absent or null
// are nil or "null".
type wireMessage struct {
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	ID     json.RawMessage `json:"id"`
}

// The outgoing forms. JSON-RPC 1.0 wants every member present, null or not.
type outRequest struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

type outReply struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
	Error  any             `json:"error"`
}

// Error is a failure that the peer reported, or that a handler wants to
// report. Value is the JSON value of the reply's "error" member: a string in
// unixctl, an object with "error" and "details" in OVSDB.
type Error struct {
	Value json.RawMessage
}

// Errorf makes an Error whose value is a JSON string.
func Errorf(format string, args ...any) *Error {
	b, _ := encode(fmt.Sprintf(format, args...))
	return &Error{Value: b}
}

// NewError makes an Error in OVSDB's form, {"error": tag, "details": details}
// (RFC 7047 section 3.1). Empty details are left out.
func NewError(tag, details string) *Error {
	v := struct {
		Error   string `json:"error"`
		Details string `json:"details,omitempty"`
	}{tag, details}
	b, _ := encode(v)
	return &Error{Value: b}
}

// Error gives a string value as it is, an OVSDB error object as
// "error: details", anything else as JSON.
func (e *Error) Error() string {
	var text string
	if json.Unmarshal(e.Value, &text) == nil {
		return text
	}
	var obj struct{ Error, Details string }
	if json.Unmarshal(e.Value, &obj) == nil && obj.Error != "" {
		if obj.Details != "" {
			return obj.Error + ": " + obj.Details
		}
		return obj.Error
	}
	return string(e.Value)
}

// Tag returns the "error" member of an OVSDB error object, the text of a
// string, or "".
func (e *Error) Tag() string {
	var text string
	if json.Unmarshal(e.Value, &text) == nil {
		return text
	}
	var obj struct{ Error string }
	_ = json.Unmarshal(e.Value, &obj)
	return obj.Error
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// encode is json.Marshal without the escaping of <, > and &, which only a
// browser needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
