package export

import (
	"fmt"
	"maps"
	"slices"

	"srpump/pipeline/sfm"
)

// mostNotes is how many notes of a code are told one by one.
const mostNotes = 50

// notes are some of many: damage can be in every line.
type notes struct {
	all  []sfm.Note
	more map[string]int // by code, those that are only counted
	told map[string]int
}

func (n *notes) add(code, format string, args ...any) {
	if n.told == nil {
		n.told, n.more = map[string]int{}, map[string]int{}
	}
	if n.told[code] == mostNotes {
		n.more[code]++
		return
	}
	n.told[code]++
	n.all = append(n.all, sfm.Note{Code: code, Message: fmt.Sprintf(format, args...)})
}

// merge adds those of another.
func (n *notes) merge(o *notes) {
	for _, note := range o.all {
		n.add(note.Code, "%s", note.Message)
	}
	for code, count := range o.more {
		n.more[code] += count
	}
}

// list are all, with a count of those that are not told.
func (n *notes) list() []sfm.Note {
	all := n.all
	for i, note := range n.all {
		if more := n.more[note.Code]; more > 0 && i == n.last(note.Code) {
			all = append(all, sfm.Note{Code: note.Code, Message: fmt.Sprintf("and %d more", more)})
		}
	}
	return all
}

func (n *notes) last(code string) int {
	last := -1
	for i, note := range n.all {
		if note.Code == code {
			last = i
		}
	}
	return last
}

// PassedOver is the code of the note of items of other platforms than the one that is exported.
const PassedOver = "items_passed_over"

// passedOver says how many items of which kinds are not in the export.
func passedOver(counts map[string]int64) sfm.Note {
	total, kinds := int64(0), ""
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		total += counts[kind]
		kinds += fmt.Sprintf(", %d %s", counts[kind], kind)
	}
	return sfm.Note{Code: PassedOver, Message: fmt.Sprintf("%d items of other platforms are not in the export: %s", total, kinds[2:])}
}
