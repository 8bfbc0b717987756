package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/pump/config"
)

// do_send delivers to a destination nothing here knows: the file by its path, the URL as an argument, and
// no password in it. What fails is tried again, and announced only when it is there.
func TestHookDelivers(t *testing.T) {
	names := []string{"plain", "-rf", "; rm x", `q"uo'te`, "$(id)\n"}
	for name, line := range map[string]string{
		"do_send": "cmd:SEND ${file} ${url}", "do_put": "odd,sftp cmd:SEND ${file} ${url}",
		"exec": `exec:SEND`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			got := h.capture("xcopy")
			option, program := "-do_send", h.script("send", `test $# = 2 || exit 4
mkdir `+h.dir+`/tried 2>/dev/null && exit 3
echo "$2" >>`+h.dir+`/urls
exec cp -- "$1" "`+h.dir+`/there/$(cksum <"$1" | cut -c 1-5)"`)
			switch name {
			case "do_put":
				option = "-do_put"
			case "exec":
				program = h.script("send", `while read -r line; do echo "$line" >>`+h.dir+`/urls; echo true; done`)
			}
			h.write("there/.keep", "")
			f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "sftp://user:secret@host/in", option, strings.ReplaceAll(line, "SEND", program),
				"-pb", "sqlite://"+h.db, "-post_exchange", "xcopy")
			for i, name := range names {
				h.write("pub/"+name, name)
				h.post("xpublic", announced("http://nobody.example/", name, name, int64(i+1)))
			}
			h.until("all announced", func() bool { return len(got()) == len(names) })
			stop()
			for _, a := range got() {
				if a.Base != "sftp://user@host/in/" {
					t.Errorf("announced at %q", a.Base)
				}
			}
			urls := h.content("urls")
			if strings.Contains(urls+h.log.String(), "secret") || !strings.Contains(urls, "@host/in/plain") {
				t.Errorf("given %q", urls)
			}
			if there, _ := filepath.Glob(h.dir + "/there/[0-9]*"); name != "exec" && (len(there) != len(names) || f.Counters.Retried.Load() != 1) {
				t.Errorf("%d there, %d tried again", len(there), f.Counters.Retried.Load())
			}
		})
	}
}

// What is not the file that was announced is not delivered, nor is what is no file.
func TestHookDeliversWhatWasAnnounced(t *testing.T) {
	h := newHouse(t)
	h.write("pub/f", "other")
	f, stop := h.run(config.Sender, "-base_dir", h.dir+"/pub", "-destination", "odd://host/", "-do_send", "cmd:touch "+h.dir+"/sent", "-attempts", "1", "-post_base_url", "http://x/")
	gone := announced("http://h/", "gone", "", 1)
	gone.Sum.Method, gone.Sum.Value = "R", "x"
	h.post("xpublic", announced("http://h/", "f", "first", 1), gone)
	h.until("neither", func() bool { return f.Counters.Retried.Load() >= 1 && f.Counters.GivenUp.Load() == 1 })
	if _, err := os.Stat(h.dir + "/sent"); err == nil {
		t.Error("the hook was run")
	}
	h.write("pub/f", "first")
	h.until("delivered", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	if !strings.Contains(h.log.String(), "msg=delivered") {
		t.Error("nothing is said of it")
	}
}

// A line that names file: takes the place of what is built in; one without a scheme does not.
func TestHookDeliversInPlaceOfFile(t *testing.T) {
	for line, want := range map[string]bool{"cmd:false": false, "file cmd:true": true, "sftp cmd:true": false} {
		h := newHouse(t)
		f, err := NewFlow(h.config(config.Sender, "-base_dir", "/pub", "-destination", "file:///there", "-do_put", line), h.host())
		if err != nil || (f.plan.there != nil) != want {
			t.Errorf("%q: %v, %v", line, f, err)
		}
	}
}
