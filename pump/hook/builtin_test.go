package hook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// pluginsOfV02 are all that come with it, each at the point it is for.
const pluginsOfV02 = `
on_message msg_log msg_rawlog log msg_total msg_total_save msg_delay msg_fdelay msg_delete msg_skip_old msg_print_lag
on_message msg_to_clusters msg_from_cluster msg_by_user msg_by_source msg_2localfile msg_2http msg_http_to_https
on_message msg_download_baseurl msg_rename_whatfn msg_replace_new_dir msg_hour_tree msg_stdfiles msg_overwrite_sum
on_message accel_wget accel_scp accel_cp exp_2mqtt simulate
on_file file_log file_age file_total file_total_save file_rxpipe root_chown file_email file_email_attach
on_part part_log part_clamav_scan
on_post post_log post_total post_total_save post_hour_tree post_override post_rate_limit root_chown
on_report report_log
on_stop trace_on_stop
on_heartbeat hb_log hb_memory hb_cache hb_retry hb_sanity hb_police_queues
on_line line_mode line_date poll_usgs poll_noaa poll_nexrad poll_shc poll_email
on_html_page html_page
destfn_script destfn_sample
do_download download_wget download_scp download_cp download_dd
plugin msg_total root_chown accel_wget
`

// Every plugin of v02 is built in, done anyway, or refused with advice of its own, with and without
// .py; and every hook that is built in has a name here and a constructor.
func TestEveryPluginOfV02(t *testing.T) {
	known := hook.Builtins()
	seen := make(map[string]bool)
	for line := range strings.Lines(pluginsOfV02) {
		words := strings.Fields(line)
		for i, name := range words {
			if i == 0 {
				continue
			}
			seen[name] = true
			for _, spelling := range []string{name, name + ".py", strings.ToUpper(name[:1]) + name[1:]} {
				problem := aboutHook(t, words[0], spelling)
				b, built := config.FindBuiltin(spelling)
				switch {
				case built && known[b.Name] != nil && problem.Text == "":
				case config.DoneAnyway(spelling) && problem.Text == "":
				case !built && problem.Severity == config.Error && !strings.HasPrefix(problem.Hint, "use exec: or cmd: with a program of your own"):
				default:
					t.Errorf("%s %s: built in %v, %+v", words[0], spelling, built, problem)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !seen[name] {
			t.Errorf("%s is no plugin of v02", name)
		}
	}
}

// aboutHook is what reading says of a hook, apart from options it lacks.
func aboutHook(t *testing.T, point, name string) config.Problem {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "t.conf")
	lines := []string{point + " " + name}
	if b, ok := config.FindBuiltin(name); ok {
		for _, o := range b.Needs {
			lines = append(lines, o+" a,b")
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := config.Load(config.Request{Preset: config.Subscribe, Env: config.Env{Home: home, Cwd: home}, ConfigArg: path,
		Args: [][]string{{"unknown_options", "error"}}})
	if len(problems) == 0 {
		return config.Problem{}
	}
	return problems[0]
}

// at runs the hooks of one configuration on an event.
func (b *bed) at(e *hook.Event, lines ...string) (bool, error) {
	b.Helper()
	return b.chain(lines...).Run(context.Background(), e)
}

// aged is an event announced so long ago.
func aged(d time.Duration) *hook.Event {
	e := event("f")
	e.Announcement.Time = post.At(time.Now().Add(-d))
	return e
}

func TestChoosing(t *testing.T) {
	headers := func(kv ...string) *hook.Event {
		e := event("f")
		for i := 0; i < len(kv); i += 2 {
			e.Announcement.SetHeader(kv[i], kv[i+1])
		}
		return e
	}
	reported := event("f")
	reported.Announcement = reported.Announcement.Reported(post.Report{Code: 201, Host: "h", User: "anna"}, "x")
	for _, c := range []struct {
		lines string
		e     *hook.Event
		want  bool
	}{
		{"on_message msg_skip_old", aged(2 * time.Hour), false},
		{"on_message msg_skip_old", aged(30 * time.Minute), true},
		{"on_message msg_skip_old;msg_skip_threshold 10", aged(time.Minute), false},
		{"on_message msg_skip_old;msg_skip_threshold none", aged(1000 * time.Hour), true},
		{"on_message msg_to_clusters;msg_to_clusters A;msg_to_clusters B", headers("to_clusters", "X,B"), true},
		{"on_message msg_to_clusters;msg_to_clusters A", headers("to_clusters", "AA"), false},
		{"on_message msg_to_clusters;msg_to_clusters A", headers(), false},
		{"on_message msg_from_cluster;msg_from_cluster A", headers("from_cluster", "A"), true},
		{"on_message msg_from_cluster;msg_from_cluster A", headers("from_cluster", "B"), false},
		{"on_message msg_by_source;msg_by_source t s", headers(), true},
		{"on_message msg_by_source;msg_by_source t", headers(), false},
		{"on_message msg_by_user;msg_by_user anna", reported, true},
		{"on_message msg_by_user;msg_by_user bob", reported, false},
		{"on_message msg_by_user;msg_by_user anna", event("f"), false},
	} {
		if ok, err := newBed(t).at(c.e, strings.Split(c.lines, ";")...); ok != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.lines, ok, err)
		}
	}
}

func TestRewriting(t *testing.T) {
	for _, c := range []struct{ lines, base, want string }{
		{"on_message msg_http_to_https", "http://h:80/d/", "https://h/d/ a/f"},
		{"on_message msg_http_to_https", "http://u@[::1]/", "https://u@[::1]/ a/f"},
		{"on_message msg_http_to_https", "sftp://h/", "sftp://h/ a/f"},
		{"on_message msg_2http", "sftp://u:pw@h:22/d/", "http://h/d/ a/f"},
		{"on_message msg_2http;msg_2http_baseurl http://x/", "file:", "http://x/ a/f"},
		{"on_message msg_download_baseurl;msg_download_baseurl ftp://x/y/", "http://h/", "ftp://x/y/ a/f"},
		{"on_post post_hour_tree", "http://h/", "http://h/ a/01/f"},
	} {
		e := event("f")
		e.Announcement.Base = c.base
		ok, err := newBed(t).at(e, strings.Split(c.lines, ";")...)
		if got := e.Announcement.Base + " " + e.Announcement.Path; !ok || err != nil || got != c.want {
			t.Errorf("%s: %s, %v, %v", c.lines, got, ok, err)
		}
	}
}

func TestHourInTopic(t *testing.T) {
	e := event("f.x")
	e.Announcement.Topic = "v02.post.a.f.x"
	if _, err := newBed(t).at(e, "on_post post_hour_tree"); err != nil || e.Announcement.Topic != "v02.post.a.01.f.x" {
		t.Errorf("topic is %q: %v", e.Announcement.Topic, err)
	}
}

// What cannot be had is refused, and not fetched from anywhere else.
func TestNoHost(t *testing.T) {
	e := event("f")
	e.Announcement.Base = "file:"
	if ok, err := newBed(t).at(e, "on_message msg_2http"); ok || !errors.Is(err, hook.ErrAnswer) {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestOverride(t *testing.T) {
	b := newBed(t)
	e := event("f")
	ok, err := b.at(e, "on_post post_override", "post_override to_clusters A, B", "post_override source t", "post_override_del n")
	want := map[string]any{"to_clusters": "A, B", "source": "t"}
	if !ok || err != nil || !maps.Equal(e.Announcement.Headers, want) {
		t.Errorf("headers are %v: %v, %v", e.Announcement.Headers, ok, err)
	}
	if _, err := b.hooks("on_post post_override", "post_override sum d,1"); err == nil {
		t.Error("the sum was overridden")
	}
}

func TestOverwriteSum(t *testing.T) {
	for given, want := range map[string]string{"d,00": "z,s", "s,00": "s,00", "R,00": "R,00", "L,00": "L,00", "m,00": "m,00"} {
		e := event("f")
		e.Announcement.Sum, _ = post.ParseSum(given)
		if _, err := newBed(t).at(e, "on_message msg_overwrite_sum", "msg_overwrite_sum s"); err != nil || e.Announcement.Sum.String() != want {
			t.Errorf("%s became %s: %v", given, e.Announcement.Sum, err)
		}
	}
}

func TestPlacing(t *testing.T) {
	for _, c := range []struct{ lines, dir, file, want string }{
		{"on_message msg_rename_whatfn", "/data/a", "CACN00:CWAO:x:2026", "/data /data/a CACN00"},
		{"on_message msg_rename_whatfn", "/data/a", ":x", "/data /data/a :x"},
		{"on_message msg_hour_tree", "/data/a", "f", "/data /data/a/01 f"},
		{`on_message msg_replace_new_dir;msg_replace_new_dir /([a-z]{1,2})$,/\1-$x`, "/data/a", "f", "/data /data/a-$x f"},
		{"on_message msg_replace_new_dir;msg_replace_new_dir ^/data,/other", "/data/a", "f", "/other /other/a f"},
		{"on_message msg_replace_new_dir;msg_replace_new_dir a/b,c", "/data/a/b", "f", "/data /data/c f"},
		{"destfn_script destfn_sample", "/data/a", "f", "/data /data/a f.renamed"},
	} {
		e := event(c.file)
		e.Dir = c.dir
		ok, err := newBed(t).at(e, strings.Split(c.lines, ";")...)
		if got := fmt.Sprint(e.Root, " ", e.Dir, " ", e.File); !ok || err != nil || got != c.want {
			t.Errorf("%s: %s, %v, %v", c.lines, got, ok, err)
		}
	}
}

// What a stranger's directory does to a pattern does not lead out of ours.
func TestReplacedDirectoryStays(t *testing.T) {
	e := event("f")
	e.Dir = "/data/.x./.x./etc"
	if ok, err := newBed(t).at(e, "on_message msg_replace_new_dir", "msg_replace_new_dir x,"); ok || !errors.Is(err, hook.ErrAnswer) {
		t.Errorf("%v, %v, %q", ok, err, e.Dir)
	}
}
