package post

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Report is what became of an announcement at one consumer: the four fields that follow
// relpath on the first line of a report (sr_post(7), THE REPORT). Its text is the header
// "message".
type Report struct {
	Code    int           // 201 and its like, in the manner of HTTP
	Host    string        // of the consumer
	User    string        // of the broker, as whom it consumed
	Elapsed time.Duration // from its receipt; microseconds on the wire
}

// ReportPrefix begins the topic of every report on an announcement whose topic says nothing of
// its version.
const ReportPrefix = "v02.report"

// reportFields is how many fields of a first line are the report.
const reportFields = 4

// IsReportTopic reports whether a topic is that of a report, under its name of today or that
// of old, v02.log.
func IsReportTopic(topic string) bool {
	_, rest, _ := strings.Cut(topic, ".")
	word, _, _ := strings.Cut(rest, ".")
	return word == "report" || word == "log"
}

// ReportTopic is the topic under which an announcement of this topic is reported: its second
// word, or its first word post, becomes report; one without it gets the prefix in front, in
// v03 after the version, where living peers have no such word.
func ReportTopic(topic string) string {
	words := strings.Split(topic, ".")
	for i := 1; i < len(words); i++ {
		if words[i] == "post" {
			words[i] = "report"
			return cleanTopic(strings.Join(words, "."))
		}
	}
	if IsV03(topic) {
		return cleanTopic(prefixV03 + ".report." + strings.Join(words[1:], "."))
	}
	return cleanTopic(ReportPrefix + "." + topic)
}

// Reported is the report r about a, with the text message, which is cut to what a header holds.
func (a *Announcement) Reported(r Report, message string) *Announcement {
	out := a.Clone()
	out.Report, out.Topic, out.Content = &r, ReportTopic(a.Topic), nil
	out.SetHeader(HeaderMessage, cutHeader(message))
	return out
}

// cutHeader cuts text to MaxHeader bytes, between two characters.
func cutHeader(s string) string {
	if len(s) <= MaxHeader {
		return s
	}
	return strings.ToValidUTF8(s[:MaxHeader], "")
}

// parseReport reads the last fields of a first line, of which there are at least three. Peers
// leave blanks in relpath as they are: what lies between is relpath.
func parseReport(fields []string) (rel string, r Report, err error) {
	n := len(fields) - reportFields
	if n < 3 {
		return "", r, fmt.Errorf("report of %d fields, not 7", len(fields))
	}
	tail := fields[n:]
	r.Host, r.User = unescapePath(tail[1]), unescapePath(tail[2])
	if r.Code, err = strconv.Atoi(tail[0]); err != nil || r.Code < 100 || r.Code > 999 {
		return "", r, fmt.Errorf("report with code %.20q", tail[0])
	}
	s, err := strconv.ParseFloat(tail[3], 64)
	if err != nil || math.IsNaN(s) || math.Abs(s) > math.MaxInt64/float64(time.Second) {
		return "", r, fmt.Errorf("report with elapsed time %.20q", tail[3])
	}
	r.Elapsed = time.Duration(s * float64(time.Second))
	return strings.Join(fields[2:n], " "), r, nil
}

// String is the four fields as they stand on the first line.
func (r Report) String() string {
	return fmt.Sprintf("%d %s %s %.6f", r.Code, word(r.Host), word(r.User), r.Elapsed.Seconds())
}

// word is s as one field of the first line.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return escapePath(s)
}
