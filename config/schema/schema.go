// Package schema holds the database schemas that gvswitch serves: all of
// Open_vSwitch's tables and columns by name, whether or not the switch
// implements them, and the server's own _Server. See README.md for origin and
// licence.
//
// It refuses to know what the columns mean. Its schemas never change and may
// be shared.
package schema

import (
	_ "embed"
	"sync"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

//go:embed vswitch.ovsschema
var vswitch []byte

//go:embed server.ovsschema
var server []byte

// OpenVSwitch returns the schema of the database Open_vSwitch.
var OpenVSwitch = sync.OnceValue(func() *ovsdb.Schema { return mustParse(vswitch) })

// Server returns the schema of the database _Server (ovsdb-server(5)).
var Server = sync.OnceValue(func() *ovsdb.Schema { return mustParse(server) })

// mustParse reads an embedded schema; a test proves that it cannot fail.
func mustParse(b []byte) *ovsdb.Schema {
	s, err := ovsdb.ParseSchema(b)
	if err != nil {
		panic(err)
	}
	return s
}
