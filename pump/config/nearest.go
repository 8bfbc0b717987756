package config

import "strings"

// nearest returns the option an unknown name was most likely meant to be, or
// "". Two letters may be wrong, missing, surplus or swapped in a long name,
// one in a name of four or five; shorter ones have too many neighbours, and so
// have the names of hooks (do_download, on_file).
func (x *index) nearest(name string) string {
	if strings.HasPrefix(name, "do_") || strings.HasPrefix(name, "on_") {
		return ""
	}
	name = strings.ToLower(strings.ReplaceAll(bareName(name), "-", "_"))
	best, least := "", 3
	for i := range x.rows {
		o := &x.rows[i]
		for _, known := range append([]string{o.Name}, o.Aliases...) {
			limit := allowedSlips(min(len(name), len(known)))
			if abs(len(name)-len(known)) > limit {
				continue
			}
			if d := distance(name, strings.ToLower(known)); d <= limit && d < least {
				best, least = known, d
			}
		}
	}
	return best
}

func allowedSlips(length int) int {
	switch {
	case length < 4:
		return 0
	case length < 6:
		return 1
	}
	return 2
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// distance counts the letters to change, insert, delete or swap with their
// neighbour (Damerau and Levenshtein, each letter touched once), byte by byte.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
