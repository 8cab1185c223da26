package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// isPicture reports whether a picture can be written to a file, by its name.
func isPicture(name string) bool {
	return name == standardStream || strings.EqualFold(filepath.Ext(name), ".svg")
}

// writePicture writes a picture to a file, or to the standard output.
func (s *session) writePicture(name string, picture []byte) error {
	if name == standardStream {
		_, err := s.out.w.Write(picture)
		return err
	}
	if err := replaceFile(name, picture); err != nil {
		return fmt.Errorf("%s is not written: %w", name, err)
	}
	return nil
}

// replaceFile writes a file as a whole: if it fails, the file is as it was before, or is not there.
func replaceFile(name string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(content)
	const permissions = 0o644 // a plan is not secret
	if err = errors.Join(err, file.Chmod(permissions), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
