package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/pump/config"
)

func TestDirectories(t *testing.T) {
	vars := map[string]string{}
	e := config.Env{Home: "/home/u", Lookup: func(n string) (string, bool) { v, ok := vars[n]; return v, ok }}
	if e.ConfigDir() != "/home/u/.config/sarra" || e.CacheDir() != "/home/u/.cache/sarra" || e.SiteDir() != "/etc/xdg/sarra" {
		t.Errorf("%s %s %s", e.ConfigDir(), e.CacheDir(), e.SiteDir())
	}
	vars["XDG_CONFIG_HOME"], vars["XDG_CACHE_HOME"], vars["SR_DEV_APPNAME"] = "/c", "relative", "dev"
	if e.ConfigDir() != "/c/dev" || e.CacheDir() != "/home/u/.cache/dev" || e.SiteDir() != "/etc/xdg/dev" {
		t.Errorf("%s %s %s", e.ConfigDir(), e.CacheDir(), e.SiteDir())
	}
	vars["SR_DEV_APPNAME"] = "../../etc"
	if _, problems := config.Load(config.Request{Env: e, Preset: config.Post}); !config.Failed(problems) {
		t.Error("SR_DEV_APPNAME may leave the directory")
	}
	if _, problems := config.Load(config.Request{Preset: config.Post}); !config.Failed(problems) {
		t.Error("no home directory is no problem")
	}
}

func TestFindConfig(t *testing.T) {
	h := newHouse(t)
	inHome := h.write("subscribe/a.conf", "batch 1")
	h.write("subscribe/gone.conf.off", "batch 1")
	here := filepath.Join(h.env.Cwd, "b.conf")
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.env.Cwd, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		"a": inHome, "a.conf": inHome, "subscribe/a": inHome, "b": here, "./b.conf": here, here: here,
		strings.TrimSuffix(here, ".conf"): here,
	} {
		if got, err := h.env.FindConfig("subscribe", arg); got != want {
			t.Errorf("%q is found at %q (%v), want %q", arg, got, err, want)
		}
	}
	for arg, want := range map[string]string{
		"missing": "cannot find", "gone": "disabled", "http://h/x.conf": "fetch it to a file first",
		"..": "begins with", "a b": "holds the character", "": "the name",
	} {
		if _, err := h.env.FindConfig("subscribe", arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q", arg, err, want)
		}
	}
	if _, err := h.env.FindConfig("subscribe", "missing"); !errors.Is(err, config.ErrNoConfig) {
		t.Error("a missing configuration is not ErrNoConfig")
	}
	if _, problems := h.load(config.Subscribe, "missing"); !config.Failed(problems) {
		t.Error("loading what is missing is no problem")
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"s1", "my-flow_2.x", "a+b=c@d,e~f", "météo"} {
		if err := config.CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", ".x", "-x", "a/b", "a\x00b", "a\nb", "a b", "a\xffb", "$x", strings.Repeat("x", 200)} {
		if err := config.CheckName(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// The names are those of the living v02 hosts, whose state is taken over.
func TestStateNames(t *testing.T) {
	s, err := config.NewState("/c", "subscribe", "s1")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		s.Dir():                      "/c/subscribe/s1",
		s.Pid(2):                     "/c/subscribe/s1/sr_subscribe_s1_02.pid",
		s.Retry(0):                   "/c/subscribe/s1/sr_subscribe_s1_00.retry",
		s.Save(1):                    "/c/subscribe/s1/sr_subscribe_s1_01.save",
		s.Cache(0):                   "/c/subscribe/s1/recent_files_000.cache",
		s.Instances():                "/c/subscribe/s1/sr_subscribe_s1.state",
		s.QueueName("guest", -1):     "/c/subscribe/s1/sr_subscribe.s1.guest.qname",
		s.QueueName("guest", 3):      "/c/subscribe/s1/sr_subscribe.s1.guest_03.qname",
		s.QueueName("../../etc", -1): "/c/subscribe/s1/sr_subscribe.s1...%2F..%2Fetc.qname",
		s.Log(1):                     "/c/log/sr_subscribe_s1_01.log",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := config.NewState("/c", "subscribe", "../x"); err == nil {
		t.Error("a name may leave the state directory")
	}
}

func TestStateOfAConfig(t *testing.T) {
	h := newHouse(t)
	if got := h.clean(config.Post).State().Dir(); got != filepath.Join(h.env.CacheDir(), "post", "default") {
		t.Errorf("without a configuration state is in %s", got)
	}
	if got := h.clean(config.Post, "-state_dir", "here").State().Dir(); got != filepath.Join(h.env.Cwd, "here", "post", "default") {
		t.Errorf("with state_dir state is in %s", got)
	}
}

func TestHostEnv(t *testing.T) {
	e, err := config.HostEnv()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(e.Home) || !filepath.IsAbs(e.Cwd) || e.Hostname == "" || len(e.RandID) != 4 {
		t.Errorf("%q %q %q %q", e.Home, e.Cwd, e.Hostname, e.RandID)
	}
}

func BenchmarkLoad(b *testing.B) {
	e := config.Env{Home: b.TempDir(), Cwd: "/"}
	words, _, err := config.NormalizeArgs([]string{"-pb", "sqlite:", "-p", "x"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		config.Load(config.Request{Env: e, Preset: config.Post, Args: words})
	}
}
