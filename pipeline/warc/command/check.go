package command

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"srpump/pipeline/warc"
)

// A checking is warc check.
type checking struct {
	*run
	quiet, strict bool
	max           int64
	wrong         int // files
}

func checkVerb(fs *flag.FlagSet) func(*run) error {
	c := &checking{}
	fs.BoolVar(&c.quiet, "q", false, "say nothing of sound files, and nothing of what is merely unusual")
	fs.BoolVar(&c.strict, "strict", false, "what is unusual is wrong, too")
	fs.Int64Var(&c.max, "max", 0, "a block of more than so many `bytes` is wrong")
	return func(r *run) error {
		c.run = r
		return c.all()
	}
}

func (c *checking) all() error {
	for _, name := range c.args {
		if err := c.file(name); err != nil {
			if c.Err() != nil {
				return err
			}
			c.wrong++
			c.warn(err)
		}
	}
	if c.wrong > 0 {
		return fmt.Errorf("%d of %d files wrong", c.wrong, len(c.args))
	}
	return nil
}

// A tally counts the faults of a file.
type tally struct {
	damaged, unusual int
	kinds            [warc.TooLarge + 1]int
}

func (c *checking) file(name string) error {
	in, done, err := c.open(name)
	if err != nil {
		return err
	}
	defer done()
	var t tally
	var said error
	records, err := c.each(in, name, warc.ReadOptions{MaxBlock: c.max, Report: func(f *warc.Fault) {
		said = errors.Join(said, c.tell(name, f, &t))
	}}, func(*warc.Record) error { return said })
	if err = errors.Join(err, said); err != nil {
		return err
	}
	return c.summary(name, records, t)
}

func (c *checking) tell(name string, f *warc.Fault, t *tally) error {
	t.kinds[f.Kind]++
	word := ""
	if f.Damage() {
		t.damaged++
	} else {
		t.unusual++
		word = "unusual: "
		if c.quiet && !c.strict {
			return nil
		}
	}
	_, err := fmt.Fprintf(c.out, "%s:%d: %s%s\n", printable(name), f.Offset, word, printable(f.String()))
	return err
}

func (c *checking) summary(name string, records int, t tally) error {
	wrong := t.damaged > 0 || records == 0 || c.strict && t.unusual > 0
	if wrong {
		c.wrong++
	} else if c.quiet {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "%s: %s, %d damaged, %d unusual\n", printable(name), count(records, "record", "records"), t.damaged, t.unusual)
	if hint := t.hint(name, records); err == nil && hint != "" {
		_, err = io.WriteString(c.out, printable(name)+": hint: "+printable(hint)+"\n")
	}
	return err
}

// hint is what to do about the worst of a file.
func (t tally) hint(name string, records int) string {
	switch {
	case records == 0 && t.kinds[warc.Truncated] == 0:
		return "there is no record in it: is it a WARC file, and not packed once more?"
	case t.damaged == 0:
		return ""
	case t.kinds[warc.Truncated] == t.damaged:
		return "it was not finished, or not copied to its end; without a better copy, warc recover cuts it back to the last whole record"
	case t.kinds[warc.TooLarge] == t.damaged:
		return "raise -max if such blocks are to be expected"
	}
	return "look for a better copy; without one, warc recover -o NEW " + name + " copies the records that are whole"
}
