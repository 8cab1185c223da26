package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed completion
var completionScripts embed.FS

// completionCmd prints a script that makes a shell complete command lines of seatctl. The scripts call "seatctl complete", so
// they fit any version.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"One of ${enum}."`
}

func (c *completionCmd) isOffline() {}

func (c *completionCmd) run(_ context.Context, s *session) (int, error) {
	script, err := completionScripts.ReadFile("completion/seatctl." + c.Shell)
	if err != nil {
		return exitFailed, err
	}
	_, err = s.out.w.Write(script)
	return exitOK, err
}

// completeCmd prints the candidates for the last word of a command line, each with what it does after a tab.
type completeCmd struct {
	Words []string `arg:"" optional:""`

	model *kong.Node
}

func (c *completeCmd) isOffline() {}

// AfterApply is called by the parser.
func (c *completeCmd) AfterApply(parser *kong.Kong) error { //nolint:unparam // the parser requires an error
	c.model = parser.Model.Node
	return nil
}

func (c *completeCmd) run(_ context.Context, s *session) (int, error) {
	return exitOK, printCandidates(s.out.w, candidates(c.model, c.Words))
}

// candidate is a word that can be at the end of a command line.
type candidate struct{ word, help string }

func printCandidates(w io.Writer, list []candidate) error {
	for _, c := range list {
		line, _, _ := strings.Cut(c.help, "\n")
		if _, err := fmt.Fprintf(w, "%s\t%s\n", c.word, line); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns what the last word can be. There are none where it is free text, such as a name of a file.
func candidates(root *kong.Node, words []string) []candidate {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "=" }) // bash splits --flag=value
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	node, flag, arguments := walk(root, words[:len(words)-1])
	var list []candidate
	switch name, _, hasValue := strings.Cut(last, "="); {
	case flag != nil:
		list = values(flag.Value, "")
	case hasValue && strings.HasPrefix(last, "-"):
		if flag = flagOf(node, name); flag != nil {
			list = values(flag.Value, name+"=")
		}
	case strings.HasPrefix(last, "-"):
		list = flags(root, node)
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				list = append(list, candidate{child.Name, child.Help})
			}
		}
		if arguments < len(node.Positional) {
			list = append(list, values(node.Positional[arguments], "")...)
		}
	}
	return slices.DeleteFunc(list, func(c candidate) bool { return !strings.HasPrefix(c.word, last) })
}

// walk follows the words of a command line. It returns the command that they name, the flag whose value is next if there is
// one, and how many arguments the command has.
func walk(root *kong.Node, words []string) (node *kong.Node, flag *kong.Flag, arguments int) {
	node = root
	for _, word := range words {
		switch {
		case flag != nil: // this word is its value
			flag = nil
		case strings.HasPrefix(word, "-"):
			if flag = flagOf(node, word); flag != nil && flag.IsBool() {
				flag = nil
			}
		default:
			i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == word })
			if i < 0 {
				arguments++
				continue
			}
			node = node.Children[i]
		}
	}
	return node, flag, arguments
}

// flagOf returns a flag of a command or of its parents, by --name or -n, or nil.
func flagOf(node *kong.Node, name string) *kong.Flag {
	for ; node != nil; node = node.Parent {
		for _, flag := range node.Flags {
			if name == "--"+flag.Name || flag.Short != 0 && name == "-"+string(flag.Short) {
				return flag
			}
		}
	}
	return nil
}

// flags returns the flags that the help of a command lists.
func flags(root, node *kong.Node) []candidate {
	groupFlags(root.Flags, node)
	var list []candidate
	for ; node != nil; node = node.Parent {
		for _, flag := range node.Flags {
			if !flag.Hidden {
				list = append(list, candidate{"--" + flag.Name, flag.Help})
			}
		}
	}
	return list
}

// values returns the values that a flag or an argument can have, if they are known.
func values(v *kong.Value, prefix string) []candidate {
	var list []candidate
	for _, value := range v.EnumSlice() {
		if value != "" {
			list = append(list, candidate{word: prefix + value})
		}
	}
	return list
}
