package vsctl

import "sync"

// all is every command, in the order of the help.
var all = sync.OnceValue(func() []*Syntax {
	var list []*Syntax
	for _, g := range []struct {
		group    string
		commands []*Syntax
	}{
		{"Switch commands", showCommands()},
		{"Bridge commands", bridgeCommands()},
		{"Port commands (a bond is one port)", portCommands()},
		{"Interface commands (a bond has several)", ifaceCommands()},
		{"Controller commands", controllerCommands()},
		{"Manager commands", managerCommands()},
		{"SSL commands", sslCommands()},
		{"Auto Attach commands", autoAttachCommands()},
		{"Conntrack zone commands", zoneCommands()},
		{"Database commands", append(listCommands(), recordCommands()...)},
	} {
		for _, s := range g.commands {
			s.Group = g.group
			list = append(list, s)
		}
	}
	return list
})

// All returns every command, by group. The caller must not change them.
func All() []*Syntax { return all() }

var byName = sync.OnceValue(func() map[string]*Syntax {
	m := make(map[string]*Syntax)
	for _, s := range all() {
		m[s.Name] = s
	}
	return m
})

// Find returns the command of that name, or nil.
func Find(name string) *Syntax { return byName()[name] }
