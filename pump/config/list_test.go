package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"srpump/pump/config"
)

func TestList(t *testing.T) {
	h := newHouse(t)
	h.vars["SR_DEV_APPNAME"] = "no-such-site"
	if got, err := config.List(h.env, config.Sarra); err != nil || len(got) != 0 {
		t.Errorf("an empty house has %v (%v)", got, err)
	}
	for _, name := range []string{"b.conf", "a.conf", "a.inc", "c.conf.off", "d.off", ".hidden.conf", "notes.txt", "x.conf~", "a.conf.bak"} {
		h.write("sarra/"+name, "batch 1")
	}
	if err := os.Mkdir(filepath.Join(h.env.ConfigDir(), "sarra", "dir.conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := config.List(h.env, config.Sarra)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range list {
		got = append(got, fmt.Sprintf("%s %s %v %v", l.Name, filepath.Base(l.Path), l.Disabled, l.Include))
	}
	same(t, "the list", got, []string{"a a.conf false false", "a a.inc false true", "b b.conf false false",
		"c c.conf.off true false", "d d.off true false"})
}

func TestPrepare(t *testing.T) {
	h := newHouse(t)
	if err := os.RemoveAll(h.env.ConfigDir()); err != nil {
		t.Fatal(err)
	}
	if _, problems := config.Load(config.Request{Env: h.env, Preset: config.Post}); len(problems) > 0 {
		t.Errorf("problems are %v", problems)
	}
	if _, err := os.Stat(h.env.ConfigDir()); err == nil {
		t.Error("a mere read makes the directory")
	}
	if err := config.Prepare(h.env); err != nil {
		t.Fatal(err)
	}
	c := h.clean(config.Subscribe)
	secret := filepath.Join(h.env.ConfigDir(), "credentials.conf")
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials.conf: %v, %v", info, err)
	}
	if got, err := c.Credentials.Broker("amqps://dd.weather.gc.ca", false); err != nil || !got.Listed || got.User != "anonymous" {
		t.Errorf("the public broker is %v (%v)", got, err)
	}
	h.write("credentials.conf", "amqp://own:secret@h/")
	h.write("default.conf", "batch 7")
	if err := config.Prepare(h.env); err != nil {
		t.Fatal(err)
	}
	if c = h.clean(config.Subscribe); c.Values.Int("batch") != 7 {
		t.Error("a second run writes over what is there")
	}
	entries, err := os.ReadDir(h.env.ConfigDir())
	if err != nil || len(entries) != 3 {
		t.Errorf("the directory holds %v (%v)", entries, err)
	}
}
