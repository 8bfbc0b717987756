package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/mirror"
	"srpump/pipeline/sfm/outbox"
)

// Mirror is sfm_mirror(1): it tells of the WARCs a pump has brought.
type Mirror struct{}

// Name is what it is called.
func (Mirror) Name() string { return "sfm_mirror" }

const mirrorUsage = "sfm_mirror [-m theirs=ours] [-x exchange] outbox"

// A telling is whom is told, and in whose words.
type telling struct {
	exchange string
	places   places
}

func (w *telling) options(fs *flag.FlagSet) {
	fs.Var(&w.places, "m", "those who are told know the directory ours as theirs, in `theirs=ours`; may be given again")
	fs.StringVar(&w.exchange, "x", sfm.Exchange, "the `exchange` of the messages")
}

// places are directories with two names.
type places []mirror.Place

func (p *places) String() string { return "" }

// Set takes theirs=ours.
func (p *places) Set(word string) error {
	theirs, ours, found := strings.Cut(word, "=")
	if !found || !strings.HasPrefix(theirs, "/") || !strings.HasPrefix(ours, "/") {
		return fmt.Errorf("%q is not two absolute directories with = between them", word)
	}
	*p = append(*p, mirror.Place{Theirs: theirs, Ours: ours})
	return nil
}

// Help is what -h prints.
func (c Mirror) Help() string {
	fs := newOptions()
	new(telling).options(fs)
	return help(c.Name(), "a hook of a pump that tells SFM of the WARCs it has brought", mirrorUsage, fs)
}

// Run answers the pump until it ends.
func (c Mirror) Run(ctx context.Context, args []string, in io.Reader, out io.Writer, warn func(error)) error {
	var w telling
	fs := newOptions()
	w.options(fs)
	rest, err := parse(fs, args)
	if err == nil && len(rest) != 1 {
		err = errors.New("the directory of the outbox is to be named, and nothing else")
	}
	if err != nil {
		return mistake{err, mirrorUsage}
	}
	box, err := outbox.Open(rest[0], outbox.Message(w.exchange), time.Now)
	if err != nil {
		return err
	}
	return (&mirror.Mirror{Out: box, Places: w.places}).Serve(in, out, warn)
}
