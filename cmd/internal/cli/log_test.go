package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"srpump/pump"
)

type oldLine string

func (l oldLine) OldLine() string { return string(l) }

// Whatever a name, header or error holds, an event is one line of the log without control
// characters, in every form of it.
func TestNoForgedLogLine(t *testing.T) {
	for _, hostile := range []string{"a\n2026-11-21 04:27:37,618 [INFO] post_log notice=", "a\rb", "\x1b[2J", "a\u2028b", "a\u0085b", "a\xff\xfeb", "a\x00b", "a\u202eb"} {
		for _, format := range []string{oldFormat, textFormat, jsonFormat} {
			var out bytes.Buffer
			log := newLog(&out, slog.LevelInfo, format)
			log.Warn("announced", "path", hostile, "error", errors.New(hostile), pump.OldLineKey, oldLine("file_log downloaded to: "+hostile))
			line, rest, _ := strings.Cut(out.String(), "\n")
			if rest != "" || line == "" || strings.ContainsAny(line, "\r\x1b\x00\u2028\u0085\u202e") && format != jsonFormat || strings.ToValidUTF8(line, "") != line {
				t.Errorf("%s: %q", format, out.String())
			}
		}
	}
}

// A password in a URL is masked in every form, also where a library quotes it in an error.
func TestNoSecretInLog(t *testing.T) {
	const secret = "s3cr3t"
	for _, format := range []string{oldFormat, textFormat, jsonFormat} {
		var out bytes.Buffer
		log := newLog(&out, slog.LevelInfo, format)
		log.Info("fetched", "url", "http://me:"+secret+"@h/a", "error", errors.New(`Get "ftp://me:`+secret+`@h/x": gone, amqp://a:`+secret+`@b`))
		log.Info("announced", pump.OldLineKey, oldLine("post_log notice=1 http://me:"+secret+"@h/ a headers={'x': 'sftp://u:"+secret+"@h'}"))
		if strings.Contains(out.String(), secret) || !strings.Contains(out.String(), "me:***@h/") {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

// An event is said once: in the words of v02 or by its phrase and keys; what v02 says of each
// announcement at INFO is for debugging in the form for people.
func TestLogForms(t *testing.T) {
	for format, want := range map[string]string{oldFormat: "[INFO] post_log notice=", textFormat: "", jsonFormat: `"level":"INFO","msg":"announced","path":"a"}`} {
		var out bytes.Buffer
		log := newLog(&out, slog.LevelInfo, format)
		log.Log(t.Context(), pump.LevelEach, "announced", "path", "a", pump.OldLineKey, oldLine("post_log notice=x"))
		if !strings.Contains(out.String(), want) || want == "" && out.Len() > 0 || strings.Count(out.String(), "\n") > 1 {
			t.Errorf("%s: %s", format, out.String())
		}
		if format == jsonFormat && !json.Valid(out.Bytes()) {
			t.Errorf("no JSON: %s", out.String())
		}
	}
	var out bytes.Buffer
	newLog(&out, slog.LevelDebug, textFormat).Log(t.Context(), pump.LevelEach, "announced", "path", "a", pump.OldLineKey, oldLine("x"))
	if got := out.String(); !strings.HasSuffix(got, "[DEBUG] announced path=a\n") {
		t.Error(got)
	}
}
