package pump

import (
	"sync"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/hook"
	"srpump/pump/retry"
	"srpump/pump/transfer"
	"srpump/winnow"
)

// A job is one announcement on its way through the flow.
type job struct {
	came  *post.Announcement // not changed, nor replaced; nil when nothing could be understood
	a     *post.Announcement // the same, or what hooks made of it; looked at by who is at the job alone
	again bool               // it may have been done before, by a run that was killed

	choice Choice
	from   post.Retrieval
	at     Place
	source string // host it is fetched from

	second   Place // where it goes when the second URL is the right one; else the zero Place
	other    Place // of the other name of what was moved or linked; else the zero Place
	apart    bool  // of which no use is to be made
	screened bool  // hooks of on_message let it pass
	due      bool  // taken out of the retry queue

	// mu is held while the job ends, or changes who keeps it or what it waits for.
	mu     sync.Mutex
	over   bool // it has ended
	token  winnow.Token
	held   bool // token holds the fingerprint
	parked bool // token waits for another to
	turn   *turn
	input  *hook.StageInput // what the filter of a stage is given; else nil

	ongoing *ongoing           // the fetch, once it began
	wrote   bool               // what is at its place is its own, not the source itself
	carried bool               // what is installed is the content that came with it
	grown   bool               // the source holds more than announced
	seen    post.Fingerprint   // of a first fetch that was not what was announced
	sum     post.Fingerprint   // of what is installed
	spent   bool               // the source is there twice: see finished
	proof   transfer.Validator // of the source that was fetched, where it was
	block   partition.Block    // the same
	partial bool               // what is done of its path is one block

	// Who keeps the announcement, should this process die. Guarded by jobSet.
	tag       broker.Tag
	delivered bool         // the broker, until tag is acknowledged
	kept      *retry.Entry // the retry queue
	began     time.Time
}

// url is where the file is fetched from, for people.
func (j *job) url() string {
	if j.from.Local != "" {
		return transfer.FileURL(j.from.Local)
	}
	return transfer.Redact(j.from.URL)
}

// A jobSet is all jobs on their way.
type jobSet struct {
	mu   sync.Mutex
	jobs map[*job]struct{}
	due  int // of them, taken out of the retry queue
}

func (s *jobSet) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.began = time.Now()
	if s.jobs == nil {
		s.jobs = make(map[*job]struct{})
	}
	s.jobs[j] = struct{}{}
	if j.due {
		s.due++
	}
}

// end forgets a job and returns the tag to acknowledge, if the broker waits for it.
func (s *jobSet) end(j *job) (broker.Tag, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.jobs[j]; !ok {
		return broker.Tag{}, false
	}
	delete(s.jobs, j)
	if j.due {
		s.due--
	}
	return j.tag, j.delivered
}

// entry is the job's entry in the retry queue, or nil.
func (s *jobSet) entry(j *job) *retry.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.kept
}

// keep hands a job over to the retry queue and returns the tag to acknowledge.
func (s *jobSet) keep(j *job, e *retry.Entry) broker.Tag {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.kept, j.delivered = e, false
	return j.tag
}

func (s *jobSet) len() (all, due int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs), s.due
}

// delivered are the jobs the broker keeps.
func (s *jobSet) delivered() (out []*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for j := range s.jobs {
		if j.a != nil && j.delivered {
			out = append(out, j)
		}
	}
	return out
}

// since are the jobs that began before t.
func (s *jobSet) since(t time.Time) (out []*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for j := range s.jobs {
		if j.came != nil && j.began.Before(t) {
			out = append(out, j)
		}
	}
	return out
}
