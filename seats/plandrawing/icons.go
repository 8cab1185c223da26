package plandrawing

import (
	"slices"
	"strings"
)

// icon is a sign of a decoration. Its element is drawn in iconFrame, around 0, 0.
type icon struct{ name, element string }

const iconFrame = `<rect x="-10" y="-10" width="20" height="20" rx="4" fill="#fff" stroke="#1f2328" stroke-width="1.2"/>`

// icons are those of holdfast.DecorationIcons.
var icons = []icon{
	{"bar", stroked("M-5 -6H5L0 0V6M-3 6H3")},
	{"entrance", stroked("M1 -6H6V6H1M-7 0H2M-1 -3L2 0L-1 3")},
	{"exit", stroked("M-1 -6H-6V6H-1M-2 0H7M4 -3L7 0L4 3")},
	{"lift", stroked("M-6 -7H6V7H-6ZM-2.5 -1.5L0 -4.5L2.5 -1.5M-2.5 1.5L0 4.5L2.5 1.5")},
	{"stairs", stroked("M-7 6H-3V2H1V-2H5V-6H7")},
	{"toilet", `<text y="3.5" text-anchor="middle" font-size="10" font-weight="bold" fill="#1f2328" stroke="none">WC</text>`},
	{"cloakroom", stroked("M0 -1L-7 5H7L0 -1V-3A2 2 0 1 0 -2 -5")},
	{"food", stroked("M-4 7V-7M-6.5 -7V-4A2.5 2.5 0 0 0 -1.5 -4V-7M4 7V-7C7 -5 7 0 4 1")},
	{"first-aid", `<path d="M0 -6V6M-6 0H6" fill="none" stroke="#1f2328" stroke-width="4"/>`},
	{"information", `<path d="M0 -1V6.5M0 -6.5V-3.5" fill="none" stroke="#1f2328" stroke-width="3"/>`},
}

func stroked(path string) string {
	return `<path d="` + path + `" fill="none" stroke="#1f2328" stroke-width="1.6" stroke-linejoin="round"/>`
}

func iconOf(name string) icon {
	return icons[slices.IndexFunc(icons, func(i icon) bool { return i.name == name })]
}

// words is the name in a sentence, such as first aid.
func (i icon) words() string { return strings.ReplaceAll(i.name, "-", " ") }

// iconsOf returns the icons that the panels have.
func iconsOf(panels []*panel) (found []icon) {
	used := map[string]bool{}
	for _, l := range panels {
		for _, o := range l.decorations {
			used[o.Icon] = true
		}
	}
	for _, i := range icons {
		if used[i.name] {
			found = append(found, i)
		}
	}
	return found
}
