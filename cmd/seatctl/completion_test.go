package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completing are scripts of shells that print what each command line, an argument, can be completed to, after the line itself.
var completing = map[string]string{
	"bash": `source <(seatctl completion bash)
		complete -p seatctl | grep -q -- '-o default -F _seatctl seatctl' || exit 1
		for line; do
			echo "> $line"
			read -ra COMP_WORDS <<<"$line"
			[[ $line != *' ' ]] || COMP_WORDS+=('')
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			_seatctl seatctl
			printf '%s\n' "${COMPREPLY[@]}"
		done`,
	"zsh": `autoload -Uz compinit; compinit -D
		source <(seatctl completion zsh)
		[[ $_comps[seatctl] == _seatctl ]] || exit 1
		_describe() { print -l -- "${(@P)2}" }
		_files() { }
		for line; do
			echo "> $line"
			words=(${(s: :)line}); [[ $line != *' ' ]] || words+=('')
			CURRENT=${#words}
			_seatctl
		done`,
	"fish": `seatctl completion fish | source; for line in $argv; echo "> $line"; complete -C $line; end`,
}

// completions are command lines, and the words that can be at their end.
var completions = map[string][]string{
	"seatctl re":                         {"recover", "report", "retention"},
	"seatctl list p":                     {"payments", "plans"},
	"seatctl list locks --us":            {"--user"},
	"seatctl list --status ACTIVE w":     {"webhooks"},
	"seatctl leases ":                    {"free"},
	"seatctl leases free --job":          {"--job-leases"},
	"seatctl report --job":               nil, // it uses the API alone
	"seatctl sweep --job-leases ":        {"auto", "mongo", "none", "redis"},
	"seatctl sweep --job-leases mongo l": {"locks"},
	"seatctl plans check ":               nil, // a file
	"seatctl comp":                       {"completion"},
	"seatctl completion ":                {"bash", "fish", "zsh"},
}

// Each shell that is on this machine completes command lines. bash is on all.
func TestCompletion_WorksInShells(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Symlink(self, filepath.Join(home, "seatctl")); err != nil {
		t.Fatal(err)
	}
	for shell, script := range completing {
		path, err := exec.LookPath(shell)
		if err != nil && shell != "bash" {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			arguments := []string{"-c", script, shell}
			if shell == "fish" {
				arguments = []string{"--no-config", "-c", script}
			}
			command := exec.CommandContext(t.Context(), path, slices.AppendSeq(arguments, maps.Keys(completions))...)
			command.Dir = t.TempDir() // without files
			command.Env = append(os.Environ(), runAsSeatctl+"=1", "HOME="+home, "PATH="+home+":"+os.Getenv("PATH"))
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v %s", err, out)
			}
			got := offered(shell, string(out))
			for line, want := range completions {
				if !slices.Equal(got[line], want) {
					t.Errorf("%s: %q, want %q", line, got[line], want)
				}
			}
			if len(got) != len(completions) {
				t.Errorf("%s", out)
			}
		})
	}
}

// offered are the words that a shell offers for each line, sorted, without what it says about them: bash says nothing.
func offered(shell, out string) map[string][]string {
	words, current := map[string][]string{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if next, found := strings.CutPrefix(line, "> "); found {
			current = next
			words[current] = nil
			continue
		}
		word := line
		if shell != "bash" {
			word = strings.FieldsFunc(line+" ", func(r rune) bool { return r == '\t' || r == ':' })[0]
		}
		if word = strings.TrimRight(word, " "); word != "" {
			words[current] = append(words[current], word)
			slices.Sort(words[current])
		}
	}
	return words
}
