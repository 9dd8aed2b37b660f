package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// man prints the manual page, for "make install" and docs/man.
func (p *program) man(app *cli.App) error {
	page, err := app.ToManWithSection(8)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, page)
	return err
}
