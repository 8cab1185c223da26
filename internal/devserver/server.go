package devserver

import (
	"sync"
	"syscall"
)

// Server is a process that can be killed and restarted. Its methods may be called at the same
// time: two faults may kill and restart the same server.
type Server struct {
	start func() (*Process, error)

	mu      sync.Mutex
	process *Process
}

// NewServer starts a server. Restart calls start again.
func NewServer(start func() (*Process, error)) (*Server, error) {
	s := &Server{start: start}
	return s, s.Restart()
}

// Restart starts a server that was killed. It does nothing if the server runs: a second process on the same data folder
// would end at once, and remove the folder.
func (s *Server) Restart() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.isRunning() {
		return nil
	}
	s.process, err = s.start()
	return err
}

// Kill kills the server, so that it cannot clean up.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.Kill()
}

// Signal sends a signal to the server. It does nothing if the server has ended.
func (s *Server) Signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.isRunning() {
		s.process.Signal(signal)
	}
}

// Stop ends the server.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.Signal(syscall.SIGCONT) // it may be paused
	s.process.Stop()
}

// Ended is closed when the present process has ended.
func (s *Server) Ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Done()
}

// Freeze pauses the server until Wake.
func (s *Server) Freeze() { s.Signal(syscall.SIGSTOP) }

// Wake ends Freeze.
func (s *Server) Wake() { s.Signal(syscall.SIGCONT) }

// IsRunning reports whether the process has not ended.
func (s *Server) IsRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.isRunning()
}
