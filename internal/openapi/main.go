// Command openapi prints the OpenAPI document that the API serves at /openapi.json, without a database.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/httpapi"
)

func main() {
	document, err := httpapi.Document()
	if err == nil {
		_, err = os.Stdout.Write(document)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}
