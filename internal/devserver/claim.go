package devserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func claimFile() string { return filepath.Join(Home, "claim") }

// Claim is the right of one process to use the data of Home. The operating system ends it
// with the process.
type Claim struct{ file *os.File }

// ClaimData claims the data for this process, which serves at the address api. Its error
// names the process that has the data, and where that process serves.
func ClaimData(api string) (*Claim, error) {
	if err := os.MkdirAll(Home, 0o700); err != nil {
		return nil, err
	}
	file, err := lockFile(claimFile(), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, claimed()
	}
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("process %d, at %s", os.Getpid(), api)
	if err := os.WriteFile(claimFile(), []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Claim{file}, nil
}

// claimed is the error of a claim that another process has.
func claimed() error {
	holder, err := os.ReadFile(claimFile())
	if err != nil {
		return err
	}
	data, err := filepath.Abs(filepath.Join(Home, "data"))
	if err != nil {
		return err
	}
	return fmt.Errorf("another scripts/run has the data in %s: %s. Use that one, stop it, or set MONGODB_URI to another MongoDB", data, holder)
}

// Release lets another process claim the data.
func (c *Claim) Release() error { return c.file.Close() }
