// Command empty does nothing. The test of releases builds it for all targets: a program with dependencies takes minutes.
package main

func main() {}
