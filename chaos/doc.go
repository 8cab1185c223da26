// Package chaos holds the tests that ask what happens when things go wrong:
// a model beside the services, processes that are killed, faults of the server.
// It has no code of the product.
package chaos
