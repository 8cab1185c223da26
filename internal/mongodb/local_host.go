package mongodb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// LocalHost is the address of this machine from which it reaches a member of the database. It sends nothing.
func LocalHost(ctx context.Context, uri string) (string, error) {
	err := errors.New("the URI names no host with a port")
	for _, member := range options.Client().ApplyURI(uri).Hosts {
		if _, _, splitErr := net.SplitHostPort(member); splitErr != nil {
			member = net.JoinHostPort(strings.Trim(member, "[]"), "27017")
		}
		var conn net.Conn
		if conn, err = (&net.Dialer{}).DialContext(ctx, "udp", member); err != nil { // UDP connects without a packet
			continue
		}
		defer func() { _ = conn.Close() }()
		host, _, err := net.SplitHostPort(conn.LocalAddr().String())
		return host, err
	}
	return "", fmt.Errorf("find this machine's address towards the database: %w", err)
}
