//go:build !unix

package enginetest

import "errors"

func startMongod() (uri string, err error) {
	return "", errors.New(Variable + " is not set: set it to a replica set, such as mongodb://localhost:27017/?replicaSet=rs0")
}
