package devserver

import (
	"context"
	"net/http"
)

// IsReady reports whether the API at an address, such as http://127.0.0.1:8080,
// answers and serves requests.
func IsReady(ctx context.Context, api string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
