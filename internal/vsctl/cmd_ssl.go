package vsctl

import (
	"fmt"
	"strconv"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Commands on the SSL configuration and on Auto Attach mappings: rows that hang on one column.

func sslCommands() []*Syntax {
	return []*Syntax{
		{Name: "get-ssl", Brief: "print the SSL configuration", prepare: prepareSSL, run: runGetSSL},
		{Name: "del-ssl", Brief: "delete the SSL configuration", prepare: prepareSSL, run: runDelSSL},
		{
			Name: "set-ssl", Args: "PRIVATE-KEY CERTIFICATE CA-CERT", Brief: "set the SSL configuration",
			minArgs: 3, maxArgs: 3, Options: []Option{{Name: "--bootstrap"}}, prepare: prepareSSL, run: runSetSSL,
		},
	}
}

func autoAttachCommands() []*Syntax {
	return []*Syntax{
		{
			Name: "add-aa-mapping", Args: "BRIDGE I-SID VLAN", Brief: "add an Auto Attach mapping to a bridge",
			minArgs: 3, maxArgs: 3, prepare: prepareAutoAttach, run: runAddMapping,
		},
		{
			Name: "del-aa-mapping", Args: "BRIDGE I-SID VLAN", Brief: "delete an Auto Attach mapping from a bridge",
			minArgs: 3, maxArgs: 3, prepare: prepareAutoAttach, run: runDelMapping,
		},
		{
			Name: "get-aa-mapping", Args: "BRIDGE", Brief: "print the Auto Attach mappings of a bridge",
			minArgs: 1, maxArgs: 1, prepare: prepareAutoAttach, run: runGetMapping,
		},
	}
}

func prepareSSL(p *plan, _ *Command) error {
	p.need("Open_vSwitch", "ssl")
	p.need("SSL", "private_key", "certificate", "ca_cert", "bootstrap_ca_cert")
	return nil
}

func runGetSSL(r *run, _ *Command) error {
	r.verifyName(r.ovs, "ssl")
	for _, x := range r.refs(r.ovs, "ssl") {
		bootstrap, _ := r.value(x, "bootstrap_ca_cert").Bool()
		r.printf("Private key: %s\n", r.str(x, "private_key"))
		r.printf("Certificate: %s\n", r.str(x, "certificate"))
		r.printf("CA Certificate: %s\n", r.str(x, "ca_cert"))
		r.printf("Bootstrap: %t\n", bootstrap)
	}
	return nil
}

func runDelSSL(r *run, _ *Command) error {
	r.dropTargets(r.ovs, "ssl")
	return nil
}

func runSetSSL(r *run, c *Command) error {
	r.dropTargets(r.ovs, "ssl")
	x := r.insert(r.schema.Tables["SSL"], nil)
	for i, column := range []string{"private_key", "certificate", "ca_cert"} {
		r.setName(x, column, ovsdb.Scalar(ovsdb.Str(c.Args[i])))
	}
	r.setName(x, "bootstrap_ca_cert", ovsdb.Scalar(ovsdb.Bool(c.has("--bootstrap"))))
	r.setName(r.ovs, "ssl", ovsdb.UUIDSet(x.id))
	return nil
}

func prepareAutoAttach(p *plan, _ *Command) error {
	p.bridges()
	p.need("Bridge", "auto_attach")
	p.need("AutoAttach", "mappings")
	return nil
}

// mapping parses I-SID and VLAN.
func mapping(c *Command) (isid, vlan ovsdb.Atom, err error) {
	i, err := strconv.ParseInt(c.Args[1], 10, 64)
	if err != nil {
		return isid, vlan, fmt.Errorf(`"%s" is not a valid I-SID`, c.Args[1])
	}
	v, err := strconv.ParseInt(c.Args[2], 10, 64)
	if err != nil {
		return isid, vlan, fmt.Errorf(`"%s" is not a valid VLAN`, c.Args[2])
	}
	return ovsdb.Int(i), ovsdb.Int(v), nil
}

func runAddMapping(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	isid, vlan, err := mapping(c)
	if err != nil {
		return err
	}
	cfg := b.real().cfg
	aa := r.refs(cfg, "auto_attach")
	if len(aa) == 0 {
		r.verifyName(cfg, "auto_attach")
		aa = []*row{r.insert(r.schema.Tables["AutoAttach"], nil)}
		r.setName(cfg, "auto_attach", ovsdb.UUIDSet(aa[0].id))
	}
	r.change(aa[0], "mappings", ovsdb.NewSet(isid), ovsdb.NewMap(ovsdb.Pair{Key: isid, Value: vlan}))
	return nil
}

func runDelMapping(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	isid, vlan, err := mapping(c)
	if err != nil {
		return err
	}
	for _, aa := range r.refs(b.real().cfg, "auto_attach") {
		if have, ok := r.value(aa, "mappings").Get(isid); ok && have == vlan {
			r.verifyName(aa, "mappings")
			r.change(aa, "mappings", ovsdb.NewSet(isid), ovsdb.Datum{})
		}
	}
	return nil
}

func runGetMapping(r *run, c *Command) error {
	b, err := r.bridge(c.Args[0])
	if err != nil {
		return err
	}
	for _, aa := range r.refs(b.real().cfg, "auto_attach") {
		m := r.value(aa, "mappings")
		for i := range m.Len() {
			r.printf("%d %d\n", m.Key(i).Int(), m.Value(i).Int())
		}
	}
	return nil
}
