package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// completionFlag at the end of a command line asks, as the CLI framework has it, for the words that may come next.
const completionFlag = "--generate-bash-completion"

// completionTime bounds how long the database is asked for names: a person waits.
const completionTime = time.Second

// bashScript asks the program itself for the words.
const bashScript = `# bash completion for %[1]s
_%[1]s() {
    local cur="${COMP_WORDS[COMP_CWORD]}"
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o default -F _%[1]s %[1]s
`

// completion prints the script for the shell that is named.
func (p *program) completion(c *cli.Context) error {
	if shell := c.Args().First(); shell != "bash" {
		return fmt.Errorf("completion: shell %q is not bash", shell)
	}
	_, err := fmt.Fprintf(p.stdout, bashScript, p.name)
	return err
}

// completeArgs prints the words that may follow args.
func (p *program) completeArgs(app *cli.App, args []string) {
	line, err := getopt(args, p.options(app.Flags))
	if err != nil {
		return
	}
	set := flag.NewFlagSet(p.name, flag.ContinueOnError)
	for _, f := range app.Flags {
		_ = f.Apply(set)
	}
	if set.Parse(append(append(line.globals, "--"), line.rest...)) == nil {
		app.BashComplete(cli.NewContext(app, set, nil))
	}
}

// complete prints the words that may come after the context's arguments: at the beginning of a command, the names of commands and options,
// within one, what fits the argument.
func (p *program) complete(c *cli.Context, app *cli.App) {
	words := c.Args().Slice()
	if i := lastIndex(words, "--"); i >= 0 {
		words = words[i+1:]
	} else if len(words) == 0 {
		for _, o := range p.options(app.Flags) {
			fmt.Fprintln(p.stdout, "--"+o.name)
		}
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) == 0 {
		for _, command := range app.Commands {
			if !command.Hidden {
				fmt.Fprintln(p.stdout, command.Name)
			}
		}
		return
	}
	s, err := p.settings(c)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	args := words[1:]
	kind, next := argumentKinds(app, words[0], len(args))
	offered := p.candidates(ctx, s, kind, args)
	if next != kind { // the argument before may be left out
		offered = append(offered, p.candidates(ctx, s, next, args)...)
	}
	slices.Sort(offered)
	for _, w := range slices.Compact(offered) {
		fmt.Fprintln(p.stdout, w)
	}
}

func lastIndex(words []string, word string) int {
	for i := len(words) - 1; i >= 0; i-- {
		if words[i] == word {
			return i
		}
	}
	return -1
}

// argumentKinds returns the word by which a command's help calls the argument with index n, in capitals: "BRIDGE", "PORT", ...; and the
// next one's, if this one may be left out and the next one may not ("[BRIDGE] PORT"), else the same again.
func argumentKinds(app *cli.App, command string, n int) (kind, next string) {
	i := slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.Name == command })
	if i < 0 {
		return "", ""
	}
	kinds := slices.DeleteFunc(strings.Fields(app.Commands[i].ArgsUsage), func(w string) bool { return strings.HasPrefix(w, "-") })
	switch {
	case n < len(kinds):
	case len(kinds) > 0 && strings.HasSuffix(kinds[len(kinds)-1], "..."):
		n = len(kinds) - 1
	default:
		return "", ""
	}
	kind = kindOf(kinds[n])
	if n+1 < len(kinds) && strings.HasPrefix(kinds[n], "[") && !strings.HasPrefix(kinds[n+1], "[") {
		return kind, kindOf(kinds[n+1])
	}
	return kind, kind
}

// kindOf is the capitals that a word of a help begins with.
func kindOf(word string) string {
	word = strings.TrimLeft(word, "[")
	if end := strings.IndexFunc(word, func(c rune) bool { return c < 'A' || c > 'Z' }); end >= 0 {
		word = word[:end]
	}
	return word
}

// candidates asks the database for the words that an argument may be. What cannot be found out has none.
func (p *program) candidates(ctx context.Context, s *settings, kind string, args []string) []string {
	switch kind {
	case "BRIDGE", "PARENT":
		return p.ask(ctx, s, "list-br")
	case "PORT":
		return p.ask(ctx, s, "--bare", "--columns=name", "find", "Port")
	case "IFACE":
		return p.ask(ctx, s, "--bare", "--columns=name", "find", "Interface")
	case "TABLE":
		return p.names(ctx, s, "")
	case "RECORD":
		return p.ask(ctx, s, "--bare", "--columns=name", "find", args[0])
	case "COLUMN":
		return p.names(ctx, s, args[0])
	default:
		return nil
	}
}

// ask runs a command for the lines that it prints.
func (p *program) ask(ctx context.Context, s *settings, words ...string) []string {
	o := s.vsctl
	o.NoWait = true
	if words[0] == "--bare" {
		words, o.Style = words[1:], vsctl.Style{Format: "list", Data: "bare", NoHeadings: true}
	}
	commands, err := vsctl.Parse(words, nil)
	if err != nil {
		return nil
	}
	db, err := p.dial(ctx, s, false)
	if err != nil {
		return nil
	}
	defer db.Close()
	result, err := vsctl.NewSession(db, o, commands).Run(ctx)
	if err != nil {
		return nil
	}
	return strings.Fields(string(result.Output))
}

// names returns the names of the database's tables, or of a table's columns.
func (p *program) names(ctx context.Context, s *settings, table string) []string {
	db, err := p.dial(ctx, s, false)
	if err != nil {
		return nil
	}
	defer db.Close()
	if table == "" {
		return db.Schema().TableNames()
	}
	var names []string
	if t := db.Schema().Tables[table]; t != nil {
		for _, c := range t.Columns {
			if !strings.HasPrefix(c.Name, "_") {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
