package devserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// GetOK returns an error unless a server answers a GET with 200.
func GetOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil || response.StatusCode == http.StatusOK {
		return err
	}
	return fmt.Errorf("status %d", response.StatusCode)
}

// StartReady starts a program that listens on a free port, and returns when its /readyz answers 200. command gets the
// address.
func StartReady(ctx context.Context, command func(address string) Command) (p *Process, address string, err error) {
	port, err := ReservePort()
	if err != nil {
		return nil, "", err
	}
	address = port.Addr()
	if p, err = Start(command(address)); err != nil {
		return nil, "", errors.Join(err, port.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = p.Await(ctx, "the server at "+address, func(ctx context.Context) error { return GetOK(ctx, "http://"+address+"/readyz") })
	if err := errors.Join(err, port.Close()); err != nil {
		p.Stop()
		return nil, "", err
	}
	return p, address, nil
}
