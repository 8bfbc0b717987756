package cli

import (
	"strings"
	"testing"
	"time"

	"srpump/pump"
)

// seen is what a terminal shows after it was written to: it knows what a screen uses.
func seen(out string) string {
	rows, row, col := [][]rune{nil}, 0, 0
	for out != "" {
		switch {
		case strings.HasPrefix(out, "\x1b[K"):
			rows[row], out = rows[row][:min(col, len(rows[row]))], out[3:]
			continue
		case strings.HasPrefix(out, "\x1b[A"):
			row, out = row-1, out[3:]
			continue
		case strings.HasPrefix(out, "\x1b["):
			row, out = row-int(out[2]-'0'), out[4:]
			continue
		}
		switch c := out[0]; c {
		case '\r':
			col = 0
		case '\n':
			if row, col = row+1, 0; row == len(rows) {
				rows = append(rows, nil)
			}
		default:
			rows[row] = append(rows[row][:col], rune(c))
			col++
		}
		out = out[1:]
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(string(r) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Log lines stand above the lines of progress, whole; at the end only they are left.
func TestScreen(t *testing.T) {
	var out strings.Builder
	s := &screen{w: &out}
	steps := []struct {
		do   func()
		want string
	}{
		{func() { s.show("one", "total") }, "one\ntotal"},
		{func() { s.Write([]byte("log 1\n")) }, "log 1\none\ntotal"},
		{func() { s.show("o", "two", "sum") }, "log 1\no\ntwo\nsum"},
		{func() { s.show("o2", "t", "su") }, "log 1\no2\nt\nsu"},
		{func() { s.Write([]byte("log 2\n")) }, "log 1\nlog 2\no2\nt\nsu"},
		{func() { s.show("su") }, "log 1\nlog 2\nsu"},
		{func() { s.show() }, "log 1\nlog 2"},
	}
	for i, step := range steps {
		step.do()
		if got := seen(out.String()); got != step.want {
			t.Errorf("after step %d it shows\n%s\nwant\n%s", i, got, step.want)
		}
	}
}

// A transfer has a line once it has run for two seconds, with its rate and what is left; of a name no control
// character reaches the terminal, and no line is wider than it.
func TestTransferLines(t *testing.T) {
	now := time.Unix(1e9, 0)
	at := func(name string, here int64, age time.Duration) transferNow {
		return transferNow{Transfer: pump.Transfer{Path: "/d/" + name, Size: 100 << 20, Here: here << 20, Began: now.Add(-age)}}
	}
	all := []transferNow{at("big\x1b[2J", 10, 3*time.Second), at("young", 1, time.Second)}
	p := &progressLine{columns: 60, text: func(time.Duration) string { return "total" }, transfers: func() []transferNow { return all }}
	p.lines(now, now)
	all = []transferNow{at("big\x1b[2J", 30, 3*time.Second), at("young", 1, time.Second)}
	got := p.lines(now.Add(time.Second/2), now)
	if len(got) != 2 || got[0] != "big?[2J 30% 30 MiB 40 MiB/s 2s left" || got[1] != "total" {
		t.Errorf("lines %q", got)
	}
	p.columns = 10
	if got := p.lines(now.Add(time.Second), now); got[0] != "big?[2J 3" {
		t.Errorf("in ten columns: %q", got)
	}
}
