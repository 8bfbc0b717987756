package command

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/export"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/outbox"
	"srpump/pipeline/sfm/platform"
	"srpump/pipeline/spool"
	"srpump/post"
	"srpump/pump/broker"
)

// Harvest is sfm_harvest(1): what is asked for, harvested into WARC files.
type Harvest struct {
	// Version is that of the program, as it stands in WARC files.
	Version string
}

// Name is what it is called.
func (Harvest) Name() string { return "sfm_harvest" }

const harvestUsage = "sfm_harvest [option ...] [request.json ...]"

// Help is what -h prints.
func (c Harvest) Help() string {
	fs := newOptions()
	new(harvesting).options(fs)
	return help(c.Name(), "harvest social media into WARC files", harvestUsage, fs)
}

// A harvesting is what the options of a call say.
type harvesting struct {
	harvest.Options
	spool, base, dir string
	api              string
	jobs             int
	ui               int
	noLinks, verbose bool
	headers          map[string]string
}

func (h *harvesting) options(fs *flag.FlagSet) {
	h.Bases, h.headers = make(map[string]string), make(map[string]string)
	fs.Func("a", "ask this API `[type=]URL` instead of the one of the platform", h.addBase)
	fs.StringVar(&h.api, "api", "", "the `address` of the REST API of SFM, such as http://api:8080")
	fs.StringVar(&h.dir, "d", "", "the `directory` that -p serves; all of the file system by default")
	fs.BoolVar(&h.Exact, "exact", false, "leave credentials in what is recorded")
	fs.Func("header", "a header `name=value` of the announcements of -p", h.addHeader)
	fs.IntVar(&h.jobs, "j", 4, "harvests at once, besides streams, with -s")
	fs.BoolVar(&h.noLinks, "l", false, "do not ask for the web resources that are linked")
	fs.Func("m", "what the beginning of paths in messages is here, as `prefix=path`", h.addPrefix)
	fs.StringVar(&h.base, "p", "", "announce each WARC file as below this `URL`")
	fs.DurationVar(&h.Roll, "r", 30*time.Minute, "begin another WARC file after this `time`")
	fs.StringVar(&h.spool, "s", "", "do what is asked for in this spool `directory`")
	fs.IntVar(&h.Tries, "t", 3, "try a harvest that often; 0 is without end")
	fs.IntVar(&h.ui, "ui", 0, "speak to this `version` of SFM UI; from 3 on it knows pauses, and no web harvests")
	fs.BoolVar(&h.verbose, "v", false, "log what is done, without -s too")
	fs.DurationVar(&h.TryPause, "w", 30*time.Second, "wait this `time` between two tries")
	fs.Int64Var(&h.Size, "z", 1_000_000_000, "begin another WARC file after so many `bytes`")
}

func (h *harvesting) addPrefix(text string) error {
	p, err := sfm.ParsePrefix(text)
	h.Prefixes = append(h.Prefixes, p)
	return err
}

func (h *harvesting) addHeader(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it is not name=value")
	}
	h.headers[name] = value
	return nil
}

// addBase is for one type, or all of them.
func (h *harvesting) addBase(text string) error {
	name, base, ok := strings.Cut(text, "=")
	if !ok || strings.Contains(name, "/") {
		name, base = "", text
	}
	if base == "" || !platform.Base(base) {
		return fmt.Errorf("%q is no address such as http://host:8080", base)
	}
	found := false
	for _, t := range platform.Types() {
		if name == "" || name == t.Name {
			h.Bases[t.Name], found = base, true
		}
	}
	if !found {
		return fmt.Errorf("there is no harvest type %q", name)
	}
	return nil
}

// Run is Serve without a log.
func (c Harvest) Run(ctx context.Context, args []string, in io.Reader, out io.Writer, _ func(error)) error {
	return c.Serve(ctx, args, in, out, func(slog.Level) *slog.Logger { return slog.New(slog.DiscardHandler) })
}

// Serve does what the arguments say. The error of a harvest that paused has a method ExitStatus.
func (c Harvest) Serve(ctx context.Context, args []string, in io.Reader, out io.Writer, log func(slog.Level) *slog.Logger) error {
	fs, h := newOptions(), &harvesting{}
	h.options(fs)
	files, err := parse(fs, args)
	switch {
	case err == nil && h.spool != "" && len(files) > 0:
		err = errors.New("requests come from the spool or from files, not from both")
	case err == nil:
		err = h.sensible()
	}
	if err != nil {
		return mistake{err, harvestUsage}
	}
	h.Types, h.Now, h.Software = platform.Types(), time.Now, "srpump "+c.Version
	h.Paused = h.ui >= 3
	h.Links = !h.noLinks && !h.Paused
	h.Instance = strconv.Itoa(os.Getpid())
	if h.Host, err = os.Hostname(); err != nil {
		h.Host = "localhost"
	}
	if h.dir != "" {
		if h.dir, err = filepath.Abs(h.dir); err != nil {
			return err
		}
	}
	if h.api != "" {
		api, err := export.NewAPI(h.api)
		if err != nil {
			return mistake{err, harvestUsage}
		}
		h.Known = func(id string) bool { return api.Has(ctx, id) }
	}
	if h.spool != "" {
		h.Log = log(slog.LevelInfo)
		return h.serve(ctx)
	}
	if h.Log = log(slog.LevelWarn); h.verbose {
		h.Log = log(slog.LevelInfo)
	}
	return h.each(ctx, files, in, out)
}

// mostSize is the most of -z, in bytes.
const mostSize = 2 << 30

// sensible names an option whose value cannot be meant.
func (h *harvesting) sensible() error {
	base, err := url.Parse(h.base)
	switch {
	case h.Tries < 0 || h.TryPause < 0:
		return errors.New("-t and -w must not be below 0")
	case h.jobs < 1 || h.Roll <= 0 || h.Size <= 0:
		return errors.New("-j, -r and -z must be above 0")
	case h.Size > mostSize:
		return fmt.Errorf("-z must not be above %d", mostSize)
	case h.base != "" && (err != nil || base.Scheme == "" || base.Host == "" && base.Scheme != "file"):
		return errors.New("-p must be a URL such as http://host/")
	}
	return nil
}

// serve does what is asked for in a spool.
func (h *harvesting) serve(ctx context.Context) (err error) {
	dir, err := filepath.Abs(h.spool)
	if err != nil {
		return err
	}
	if h.Out, err = outbox.Open(filepath.Join(dir, harvest.OutDir), outbox.Message(sfm.Exchange), h.Now); err != nil {
		return err
	}
	if h.base != "" {
		like := broker.Publishing{ContentType: post.ContentType, ContentEncoding: post.ContentEncoding}
		box, err := outbox.Open(filepath.Join(dir, harvest.AnnounceDir), like, h.Now)
		if err != nil {
			return err
		}
		h.announce(box)
	}
	s := harvest.Service{Dir: dir, Harvester: harvest.New(h.Options), Jobs: h.jobs, Log: h.Log, Now: h.Now}
	return s.Run(ctx)
}

func (h *harvesting) announce(to harvest.Outbox) {
	if h.base != "" {
		h.Announce = &harvest.Announce{Out: to, Base: h.base, Dir: h.dir, Headers: h.headers}
	}
}

// each does the requests of files, one after the other, or the one on standard input. What is said goes
// to out.
func (h *harvesting) each(ctx context.Context, files []string, in io.Reader, out io.Writer) error {
	told := &printed{to: bufio.NewWriter(out)}
	h.Out = told
	h.announce(told)
	harvester, failed := harvest.New(h.Options), 0
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		body, err := request(ctx, name, in)
		if err != nil {
			return err
		}
		_, key, _ := spool.Parts(filepath.Base(name))
		if k, ok := sfm.ParseKey(key); !ok || k.Verb != sfm.VerbStart {
			key = ""
		}
		switch outcome, err := harvester.Run(ctx, harvest.Job{Body: body, Key: key}); {
		case err != nil:
			return fmt.Errorf("cannot do the harvest of %q: %w", name, err)
		case outcome == harvest.Paused:
			return paused{name}
		case outcome == harvest.Failed:
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d harvests failed; their last status says why", failed, len(files))
	}
	return nil
}

// request reads a request; a person who types one may change his mind.
func request(ctx context.Context, name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", name, cause(err))
		}
		return body, nil
	}
	type text struct {
		body []byte
		err  error
	}
	read := make(chan text, 1)
	go func() {
		body, err := io.ReadAll(in)
		read <- text{body, err}
	}()
	select {
	case t := <-read:
		return t.body, t.err
	case <-ctx.Done():
		return nil, errors.New("cannot read the request: it was interrupted")
	}
}

// exitPaused is the status of a harvest that goes on when it is asked for again: EX_TEMPFAIL.
const exitPaused = 75

// A paused harvest was interrupted.
type paused struct{ name string }

func (p paused) Error() string   { return fmt.Sprintf("the harvest of %q has paused", p.name) }
func (p paused) Hint() string    { return "run it again with the same request, and it goes on" }
func (p paused) ExitStatus() int { return exitPaused }
