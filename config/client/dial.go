package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
)

// Dialer makes a connection to a server.
type Dialer func(ctx context.Context) (io.ReadWriteCloser, error)

// Address gives the Dialer of "unix:PATH", "tcp:HOST:PORT" (an IPv6 host in
// brackets) or a path of a socket alone. Passive (punix:, ptcp:) and ssl:
// addresses are errors.
func Address(address string) (Dialer, error) {
	scheme, rest, hasScheme := strings.Cut(address, ":")
	switch {
	case address == "":
		return nil, fmt.Errorf("database address is empty")
	case !hasScheme || strings.HasPrefix(address, "/"):
		return netDialer("unix", address), nil
	case scheme == "unix" && rest != "":
		return netDialer("unix", rest), nil
	case scheme == "tcp":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return nil, fmt.Errorf("database address %q: %w", address, err)
		}
		return netDialer("tcp", rest), nil
	default:
		return nil, fmt.Errorf("database address %q: want unix:PATH or tcp:HOST:PORT", address)
	}
}

func netDialer(network, where string) Dialer {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, where)
	}
}
