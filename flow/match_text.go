package flow

// Parse makes m the match that text says, as ovs-ofctl reads it: tcp,in_port=1,nw_src=10.0.0.0/8. An
// error names the field, its value and what is wrong.
func (m *Match) Parse(text string, n PortNames) error { return errNoText }

// Add adds one item of a match's text: a field with a value, or a word like tcp that has none.
func (m *Match) Add(name, value string, has bool, n PortNames) error { return errNoText }

// Check tells whether each field in m has its prerequisites, after all of it has been added.
func (m *Match) Check() error { return nil }

// Append appends m as ovs-ofctl prints it: nothing for a match of everything.
func (m *Match) Append(b []byte, n PortNames) []byte { return b }

// String is m as ovs-ofctl prints it, ports as numbers.
func (m *Match) String() string { return string(m.Append(nil, nil)) }
