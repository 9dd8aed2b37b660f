package xlate

import (
	"strings"

	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Trace collects an account of one Run, in the form of ofproto/trace. The zero value is ready.
type Trace struct {
	// Names, if not nil, knows the names of ports and tables. Numbers are shown otherwise.
	Names ofp.Names
	// DPNames, if not nil, knows the names of datapath ports.
	DPNames odp.Names

	nodes            []node
	flow, final      string
	megaflow, action string
	end              string
}

// nodeKind is a kind of line, which says how it is shown.
type nodeKind uint8

const (
	nodeBridge nodeKind = iota
	nodeTable
	nodeBucket
	nodeAction
	nodeDetail
	nodeWarn
	nodeError
)

// node is a line of the account; those that follow with a greater level belong to it.
type node struct {
	kind  nodeKind
	level uint8
	text  string
}

func (t *Trace) reset() { *t = Trace{Names: t.Names, DPNames: t.DPNames} }

func (t *Trace) add(k nodeKind, level uint8, text string) {
	t.nodes = append(t.nodes, node{k, level, text})
}

// String is the account as ofproto/trace shows it: the flow, the steps, and what came of it.
func (t *Trace) String() string {
	var b strings.Builder
	b.WriteString("Flow: " + t.flow + "\n")
	t.steps(&b, t.nodes, 0)
	b.WriteString("\nFinal flow: " + t.final + "\nMegaflow: " + t.megaflow + "\nDatapath actions: " + t.action + "\n")
	b.WriteString(t.end)
	return b.String()
}

// Steps is the middle part alone: each lookup, action and remark.
func (t *Trace) Steps() string {
	var b strings.Builder
	t.steps(&b, t.nodes, 0)
	return strings.TrimPrefix(b.String(), "\n")
}

// steps shows nodes of one level with what belongs to them. The last one stands no further in than what it
// belongs to, so that a chain of tables reads from top to bottom.
func (t *Trace) steps(b *strings.Builder, nodes []node, indent int) {
	for len(nodes) > 0 {
		n := &nodes[0]
		end := 1
		for end < len(nodes) && nodes[end].level > n.level {
			end++
		}
		in := indent
		if end < len(nodes) || n.kind >= nodeBucket {
			in++
		}
		pad := strings.Repeat("    ", in)
		if n.kind == nodeBridge {
			b.WriteByte('\n')
		}
		b.WriteString(pad)
		switch n.kind {
		case nodeDetail:
			b.WriteString(" -> " + n.text)
		case nodeWarn:
			b.WriteString(" >> " + n.text)
		case nodeError:
			b.WriteString(" >>>> " + n.text + " <<<<")
		case nodeBridge:
			b.WriteString(n.text + "\n" + pad + strings.Repeat("-", len(n.text)))
		default:
			b.WriteString(n.text)
		}
		b.WriteByte('\n')
		t.steps(b, nodes[1:end], in+in-indent)
		nodes = nodes[end:]
	}
}
