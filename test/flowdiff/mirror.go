package flowdiff

import (
	"strings"

	"github.com/gvswitch/gvswitch/datapath/flowtest"
)

// mirror adds a mirror to a bridge.
func (o *OVS) mirror(bridge, text string) error {
	m, err := flowtest.ParseMirror(text)
	if err != nil {
		return err
	}
	var args []string
	create := []string{"--", "--id=@m", "create", "mirror", "name=" + m.Name}
	for _, c := range m.Columns {
		v := c.Value
		if strings.HasSuffix(c.Name, "_port") {
			var ids []string
			for n := range strings.SplitSeq(v, ",") {
				name := "p" + n
				if bridge != "br0" {
					name = bridge + "-" + name
				}
				id := "@" + name
				ids = append(ids, id)
				if !strings.Contains(strings.Join(args, " ")+" ", "--id="+id+" ") {
					args = append(args, "--", "--id="+id, "get", "port", name)
				}
			}
			v = strings.Join(ids, ",")
		}
		create = append(create, c.Name+"="+v)
	}
	args = append(append(args, create...), "--", "add", "bridge", bridge, "mirrors", "@m")
	_, err = o.vsctl(args[1:]...)
	return err
}
