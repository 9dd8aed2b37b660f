package daemon

import "encoding/json"

// lazy is a value for programs that is made only when it is asked for.
type lazy func() any

// MarshalJSON implements json.Marshaler.
func (l lazy) MarshalJSON() ([]byte, error) { return json.Marshal(l()) }
