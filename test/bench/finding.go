package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A finding is one line of the table: a figure of ours, beside the same figure
// of an anchor where there is one, and what is to be reached.
type finding struct {
	what   string // the figure and its unit
	ours   []float64
	anchor []float64 // of the same rounds; empty without an anchor
	versus string    // the anchor's name
	goal   goal
}

// A goal bounds the median of ours or, against an anchor, the ratio of medians.
type goal struct {
	ratio bool
	least float64 // zero: no such bound
	most  float64
}

func (g goal) String() string {
	unit := ""
	if g.ratio {
		unit = " × anchor"
	}
	switch {
	case g.least != 0:
		return "≥ " + number(g.least) + unit
	case g.most != 0:
		return "≤ " + number(g.most) + unit
	}
	return "shown"
}

// reached is yes or no, and empty where nothing is to be reached.
func (f finding) reached() string {
	v := median(f.ours)
	if f.goal.ratio {
		v = f.ratio()
	}
	switch {
	case f.goal.least == 0 && f.goal.most == 0:
		return ""
	case f.goal.least != 0 && v >= f.goal.least, f.goal.most != 0 && v <= f.goal.most:
		return "yes"
	}
	return "no"
}

// ratio is that of the medians, ours over the anchor's.
func (f finding) ratio() float64 { return median(f.ours) / median(f.anchor) }

// pairwise is the median of the ratios within each round.
func (f finding) pairwise() float64 {
	ratios := make([]float64, 0, len(f.ours))
	for i := range min(len(f.ours), len(f.anchor)) {
		ratios = append(ratios, f.ours[i]/f.anchor[i])
	}
	return median(ratios)
}

// median of no values is not a number.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

func printHead(w io.Writer) {
	fmt.Fprintln(w, "| row | figure | ours: median (min–max) | anchor: median (min–max) | ratio of medians | median of ratios | reach | reached |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
}

func printFinding(w io.Writer, row string, f finding) {
	anchor, ratio, pairs := "–", "–", "–"
	if len(f.anchor) > 0 {
		anchor = f.versus + ": " + span(f.anchor)
		ratio, pairs = fmt.Sprintf("%.2f", f.ratio()), fmt.Sprintf("%.2f", f.pairwise())
	}
	cells := []string{row, f.what, span(f.ours), anchor, ratio, pairs, f.goal.String(), f.reached()}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

func span(values []float64) string {
	if len(values) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%s (%s–%s)", number(median(values)), number(slices.Min(values)), number(slices.Max(values)))
}

// number has three digits that count, and commas in its thousands.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 1000:
		s := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// String is a sample in a fixed order.
func (s sample) String() string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k + " " + number(s[k]))
	}
	return b.String()
}
