package hook

import "time"

// A StageInput is one file for a filter.
type StageInput struct {
	Path    string // of the file, absolute; empty when it is not here
	URL     string // where it is announced, without a password
	Topic   string
	RelPath string // as announced
	Sum     string
	Size    int64 // in bytes; below zero: not known
	Headers map[string]any
	Again   bool // it may have been given before

	// Done is told what became of it, once, when the filter has answered and all outputs it answers for are
	// announced or have failed.
	Done func(Verdict)

	id       int64
	given    time.Time
	life     int  // how often it was given: outputs of one life are nothing to the next
	late     bool // it was in a filter's hands for too long
	deaths   int  // in a row
	answered bool
	verdict  Verdict
	owed     int   // outputs that are not announced
	failed   error // of the first output that could not be
}

// A StageAnswer is what a filter says of an input.
type StageAnswer int

// The answers of a filter.
const (
	StageOK    StageAnswer = iota // done, with all outputs there are
	StageDrop                     // nothing is to be made of it
	StageRetry                    // it is to be given again later
	StageFault                    // nothing can ever be made of it
)

// A Verdict is what became of an input.
type Verdict struct {
	Answer StageAnswer
	Why    string // the filter's words, cut and printable
	Err    error  // of an output it answers for that could not be announced; then Answer is of no account
}

// over reports whether nothing more is to come for the input, and how it ended.
func (in *StageInput) over() (Verdict, bool) {
	v := in.verdict
	if in.answered && v.Answer == StageOK {
		v.Err = in.failed
	}
	return v, in.answered && in.owed == 0
}

// suspected reports whether an input is to be given alone: one more death of who holds it is its fault.
func (in *StageInput) suspected(attempts int) bool {
	return in.deaths > 0 && in.deaths >= attempts-1
}

// A StageOutput is a file a filter has made.
type StageOutput struct {
	Path    string // as the filter says: absolute, or below the directory of outputs
	Headers map[string]string
	Again   bool // an input it is said for may have been given before

	filter *filter
	inputs []stake // that answer for it
}

// A stake is an input that answers for an output, in the life in which that was said.
type stake struct {
	*StageInput
	life int
}

func stakes(inputs []*StageInput) []stake {
	out := make([]stake, len(inputs))
	for i, in := range inputs {
		out[i] = stake{in, in.life}
	}
	return out
}

// Done tells that the output is announced, or why it cannot be. An input that was given again since, as the filter
// died, does not answer for it any more.
func (o *StageOutput) Done(err error) {
	s := o.filter.stage
	var ended []*StageInput
	s.mu.Lock()
	if len(o.inputs) == 0 {
		o.filter.settle(o, err)
	}
	for _, in := range o.inputs {
		if in.life != in.StageInput.life {
			continue
		}
		in.owed--
		if in.failed == nil {
			in.failed = err
		}
		if _, over := in.over(); over {
			ended = append(ended, in.StageInput)
		}
	}
	s.mu.Unlock()
	tell(ended)
}

// tell ends inputs. No lock is held.
func tell(ended []*StageInput) {
	for _, in := range ended {
		v, _ := in.over()
		in.Done(v)
	}
}
