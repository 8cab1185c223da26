package devserver

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Home is the folder, in the repository and ignored by git, of what scripts/run
// keeps: its data, and its State while it runs.
const Home = ".holdfast"

// State tells where a running scripts/run is.
type State struct {
	MongoDBURI string `json:"mongodbUri"`
	Database   string `json:"database"`
	API        string `json:"api"`
}

func stateFile() string { return filepath.Join(Home, "run.json") }

// Tell writes the state for others to read.
func (s State) Tell() error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(Home, 0o700); err != nil {
		return err
	}
	const ownerOnly = 0o600 // the connection string may hold a password
	return os.WriteFile(stateFile(), append(text, '\n'), ownerOnly)
}

// Forget removes what Tell wrote.
func (State) Forget() error { return os.Remove(stateFile()) }

// ReadState reads what Tell wrote; whoever wrote it may be gone since.
func ReadState() (s State, err error) {
	text, err := os.ReadFile(stateFile())
	if err != nil {
		return State{}, err
	}
	err = json.Unmarshal(text, &s)
	return s, err
}
