package main

import (
	"errors"
	"slices"

	"github.com/gvswitch/gvswitch/config/store"
	"github.com/gvswitch/gvswitch/internal/vsctl"
)

// importCommand reads "[--replace] FILE", in any order, and the file.
func importCommand(args []string) (*vsctl.Command, error) {
	replace := slices.Contains(args, "--replace")
	files := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--replace" })
	if len(files) != 1 {
		return nil, errors.New("import takes one file, a database as ovsdb-server keeps it (e.g. /etc/openvswitch/conf.db), and may take --replace")
	}
	db, err := store.ReadOVSDBFile(files[0])
	if err != nil {
		return nil, err
	}
	return vsctl.ImportCommand(db, files[0], replace), nil
}
