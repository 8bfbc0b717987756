package cli

import (
	"fmt"
	"io"
	"strings"
)

// A checkReport is what check says of configurations, as text or as a document for programs.
type checkReport struct {
	OK             bool            `json:"ok"` // all can be started
	Configurations []checkedConfig `json:"configurations"`
}

// A checkedConfig is one configuration and what is wrong with it.
type checkedConfig struct {
	Component string    `json:"component"`
	Config    string    `json:"config"`
	Path      string    `json:"path"` // as it was named, where nothing is found
	OK        bool      `json:"ok"`   // no problem is an error
	Problems  []finding `json:"problems"`
}

// A finding is one thing that is wrong.
type finding struct {
	File     string `json:"file"`     // or "command line"
	Line     int    `json:"line"`     // from 1; 0 is the whole file
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

func newCheckReport() *checkReport {
	return &checkReport{OK: true, Configurations: []checkedConfig{}}
}

func (r *checkReport) add(c checkedConfig) {
	r.OK = r.OK && c.OK
	r.Configurations = append(r.Configurations, c)
}

// print fails when a configuration cannot be started.
func (r *checkReport) print(w io.Writer, asJSON bool) (err error) {
	if asJSON {
		err = writeJSON(w, r)
	} else {
		_, err = io.WriteString(w, r.text())
	}
	if err == nil && !r.OK {
		return exitStatus(ExitUsage)
	}
	return err
}

// text is a line for each problem and one for its hint, which are found by file and line as a
// compiler's are. What is wrong with a file that several share is said once.
func (r *checkReport) text() string {
	var b strings.Builder
	said := make(map[finding]bool)
	for _, c := range r.Configurations {
		if len(c.Problems) == 0 {
			fmt.Fprintf(&b, "%s: ok\n", oneLine(c.Path))
		}
		for _, f := range c.Problems {
			if !said[f] {
				f.write(&b)
			}
			said[f] = true
		}
	}
	return b.String()
}

func (f finding) write(w io.Writer) {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	fmt.Fprintln(w, oneLine(fmt.Sprintf("%s: %s: %s", at, f.Severity, f.Message)))
	if f.Hint != "" {
		fmt.Fprintln(w, oneLine(fmt.Sprintf("%s: hint: %s", at, f.Hint)))
	}
}
