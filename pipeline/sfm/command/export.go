package command

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/export"
	"srpump/pipeline/sfm/outbox"
	"srpump/pipeline/spool"
)

// Export is sfm_export(1): tables and other files of the items in WARC files.
type Export struct{}

// Name is what it is called.
func (Export) Name() string { return "sfm_export" }

const exportUsage = "sfm_export -a api [option ...] [-s spool | request.json ...]; sfm_export -o dir [option ...] [file ...]; sfm_export -list -a api [option ...] collection ..."

// Help is what -h prints.
func (c Export) Help() string {
	fs := newOptions()
	new(exporting).options(fs)
	return help(c.Name(), "export social media from WARC files", exportUsage, fs)
}

// An exporting is what the options of a call say.
type exporting struct {
	order                   export.Order
	query                   export.Query
	prefixes                sfm.Prefixes
	base, spool             string
	since, until, owners    string
	list, nul, verbose, raw bool

	api *export.API
	log *slog.Logger
}

func (x *exporting) options(fs *flag.FlagSet) {
	fs.BoolVar(&x.nul, "0", false, "names end with NUL: of files, on standard input, and of -list")
	fs.StringVar(&x.base, "a", "", "the `address` of the REST API, such as http://api:8080")
	fs.BoolVar(&x.order.Dedupe, "d", false, "of items that are there several times only the first")
	fs.StringVar(&x.order.Format, "f", "csv", "the `format`: "+strings.Join(export.Formats(), ", "))
	fs.StringVar(&x.query.HarvestEnd, "harvest-end", "", "list files of harvests begun up to this `date`")
	fs.StringVar(&x.query.HarvestStart, "harvest-start", "", "list files of harvests begun from this `date` on")
	fs.StringVar(&x.until, "item-end", "", "only items up to this `date`")
	fs.StringVar(&x.since, "item-start", "", "only items from this `date` on")
	fs.BoolVar(&x.list, "list", false, "list the WARC files of collections")
	fs.Func("m", "what the beginning of paths in messages is here, as `prefix=path`", x.addPrefix)
	fs.Int64Var(&x.order.Segment, "n", 0, "put so many `items` into each file; 0 is all")
	fs.StringVar(&x.order.Dir, "o", "", "export WARC files into this `directory`")
	fs.BoolVar(&x.raw, "plain", false, "leave texts as they are that a spreadsheet takes for formulas")
	fs.StringVar(&x.spool, "s", "", "make what is asked for in this spool `directory`")
	fs.StringVar(&x.order.Type, "t", "", "the harvest `type` the files are of")
	fs.StringVar(&x.owners, "u", "", "only items of the owners with these `uids`")
	fs.BoolVar(&x.verbose, "v", false, "log what is done, without -s too")
	fs.StringVar(&x.query.CreatedUntil, "warc-end", "", "list files made up to this `date`")
	fs.StringVar(&x.query.CreatedStart, "warc-start", "", "list files made from this `date` on")
}

func (x *exporting) addPrefix(text string) error {
	p, err := sfm.ParsePrefix(text)
	x.prefixes = append(x.prefixes, p)
	return err
}

// The options that belong to one way of calling it; all others are for each.
const (
	needValue = " a o s "
	forFiles  = " d f item-end item-start n t u "
	forLists  = " harvest-end harvest-start warc-end warc-start "
)

// check tells what does not go together.
func (x *exporting) check(fs *flag.FlagSet, args []string) (err error) {
	fs.Visit(func(f *flag.Flag) {
		name := " " + f.Name + " "
		switch {
		case strings.Contains(needValue, name) && f.Value.String() == "":
			err = fmt.Errorf("-%s is given without a value", f.Name)
		case err != nil:
		case x.order.Dir == "" && strings.Contains(forFiles, name):
			err = fmt.Errorf("-%s goes with -o; a request says for itself what it asks for", f.Name)
		case !x.list && strings.Contains(forLists, name):
			err = fmt.Errorf("-%s goes with -list", f.Name)
		}
	})
	ways := 0
	for _, way := range []bool{x.list, x.order.Dir != "", x.spool != ""} {
		if way {
			ways++
		}
	}
	switch {
	case err != nil:
	case x.order.Dir != "" && x.base != "":
		err = errors.New("-o and -a do not go together: -o exports the files that are named, and asks nobody")
	case ways > 1:
		err = errors.New("-list, -o and -s do not go together")
	case x.order.Dir == "" && x.base == "":
		err = errors.New("-a is missing: the REST API knows the WARC files")
	case x.spool != "" && len(args) > 0:
		err = errors.New("requests come from the spool or from files, not from both")
	case x.list && len(args) == 0:
		err = errors.New("no collection is given")
	case x.order.Segment < 0:
		err = errors.New("-n must not be below 0")
	case x.order.Type != "" && !slices.Contains(export.Types(), x.order.Type):
		err = fmt.Errorf("there is no harvest type %q, only %s", x.order.Type, strings.Join(export.Types(), ", "))
	case !slices.Contains(export.Formats(), x.order.Format):
		err = fmt.Errorf("there is no format %q, only %s", x.order.Format, strings.Join(export.Formats(), ", "))
	}
	return err
}

// values reads the options that are words.
func (x *exporting) values() (err error) {
	if x.order.Since, err = date(x.since, false); err != nil {
		return err
	}
	if x.order.Until, err = date(x.until, true); err != nil {
		return err
	}
	x.order.Owners, x.order.Plain = words(x.owners), x.raw
	if x.base != "" {
		x.api, err = export.NewAPI(x.base)
	}
	return err
}

// exportGC lets the heap grow to twice what is in use: most of that is what is known of duplicates, and
// grows with them.
const exportGC = 100

// Run is Serve without a log.
func (c Export) Run(ctx context.Context, args []string, in io.Reader, out io.Writer, _ func(error)) error {
	return c.Serve(ctx, args, in, out, func(slog.Level) *slog.Logger { return slog.New(slog.DiscardHandler) })
}

// Serve does what the arguments say. The error of an export that was interrupted has a method
// ExitStatus.
func (c Export) Serve(ctx context.Context, args []string, in io.Reader, out io.Writer, log func(slog.Level) *slog.Logger) error {
	fs, x := newOptions(), &exporting{}
	x.options(fs)
	names, err := parse(fs, args)
	if err == nil {
		err = x.check(fs, names)
	}
	if err == nil {
		err = x.values()
	}
	if err != nil {
		return mistake{err, exportUsage}
	}
	if x.log = log(slog.LevelWarn); x.verbose || x.spool != "" {
		x.log = log(slog.LevelInfo)
	}
	if x.api != nil {
		x.api.Log = x.log
	}
	debug.SetGCPercent(exportGC)
	switch {
	case x.list:
		return x.listed(ctx, names, out)
	case x.order.Dir != "":
		return x.files(ctx, names, in)
	case x.spool != "":
		return x.serve(ctx)
	}
	return x.requests(ctx, names, in, out)
}

// exporter is one that says what it does to an outbox.
func (x *exporting) exporter(to export.Outbox, records string) *export.Exporter {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return export.New(export.Options{API: x.api, Out: to, Prefixes: x.prefixes, Records: records, Plain: x.raw, Host: host,
		Instance: strconv.Itoa(os.Getpid()), Log: x.log, Now: time.Now})
}

// serve makes what is asked for in a spool.
func (x *exporting) serve(ctx context.Context) error {
	dir, err := filepath.Abs(x.spool)
	if err != nil {
		return err
	}
	box, err := outbox.Open(filepath.Join(dir, export.OutDir), outbox.Message(sfm.Exchange), time.Now)
	if err != nil {
		return err
	}
	s := export.Service{Dir: dir, Exporter: x.exporter(box, filepath.Join(dir, export.Records)), Log: x.log, Now: time.Now}
	return s.Run(ctx)
}

// requests makes what files ask for, one after the other, or the message on standard input. What is said
// goes to out.
func (x *exporting) requests(ctx context.Context, files []string, in io.Reader, out io.Writer) error {
	exporter, failed := x.exporter(&printed{to: bufio.NewWriter(out)}, ""), 0
	if len(files) == 0 {
		files = []string{stdin}
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
		switch outcome, err := exporter.Run(ctx, export.Job{Body: body, Key: key}); {
		case err != nil:
			return fmt.Errorf("cannot make the export of %q: %w", name, err)
		case outcome == export.Stopped:
			return interrupted{fmt.Sprintf("the export of %q", name)}
		case outcome == export.Failed:
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d exports failed; their last status says why", failed, len(files))
	}
	return nil
}

// An interrupted export was not made.
type interrupted struct{ what string }

func (i interrupted) Error() string   { return i.what + " was interrupted" }
func (i interrupted) Hint() string    { return "nothing of it is left; run it again" }
func (i interrupted) ExitStatus() int { return exitPaused }
