package devserver

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Home is the folder of scripts/run in the repository: its data and, while it
// runs, its State. Git ignores it.
const Home = ".holdfast"

// State is the addresses of a running scripts/run.
type State struct {
	MongoDBURI string `json:"mongodbUri"`
	Database   string `json:"database"`
	API        string `json:"api"`
}

func stateFile() string { return filepath.Join(Home, "run.json") }

// Save writes the state for other commands.
func (s State) Save() error {
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

// Remove deletes the saved state.
func (State) Remove() error { return os.Remove(stateFile()) }

// ReadState reads the saved state. The process that saved it may have ended.
func ReadState() (s State, err error) {
	text, err := os.ReadFile(stateFile())
	if err != nil {
		return State{}, err
	}
	err = json.Unmarshal(text, &s)
	return s, err
}
