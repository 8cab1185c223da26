//go:build unix

package enginetest

import (
	"context"
	"os"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// startMongod starts a mongod that ends with this process, also if that is killed.
func startMongod() (uri string, err error) {
	m, err := devserver.StartMongod(context.Background(), devserver.MongodOptions{Test: true, Progress: os.Stderr})
	if err != nil {
		return "", err
	}
	return m.URI, nil
}
