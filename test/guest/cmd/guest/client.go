package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// execute runs a command in a guest and returns its exit status.
func execute(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("exec: want NAME COMMAND...")
	}
	a, err := ask(args[0], call{Exec: strings.Join(args[1:], " ")})
	if err != nil {
		return 0, err
	}
	fmt.Print(a.Stdout)
	fmt.Fprint(os.Stderr, a.Stderr)
	return a.Code, nil
}

// stop ends guests; one that does not run is no error.
func stop(names []string) error {
	var errs []error
	for _, n := range names {
		if _, err := os.Stat(socketOf(n)); err != nil {
			continue
		}
		if _, err := ask(n, call{Stop: true}); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func ask(name string, c call) (answer, error) {
	var a answer
	conn, err := net.Dial("unix", socketOf(name))
	if err != nil {
		return a, fmt.Errorf("%s does not run: %w", name, err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return a, err
	}
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return a, fmt.Errorf("%s: no answer: %w", name, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
