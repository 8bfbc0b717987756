package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"srpump/pump/config"
	"srpump/pump/manage"
)

// roster reads the configuration the lines make, with passwords for alice, bob and the pump's own.
func roster(t *testing.T, lines ...string) *Roster {
	t.Helper()
	r, err := ReadRoster(configured(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func configured(t *testing.T, lines ...string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	var words [][]string
	for _, l := range lines {
		words = append(words, strings.Fields(l))
	}
	cfg, problems := config.Load(config.Request{Env: config.Env{Home: dir, Cwd: dir}, Preset: config.Audit, Args: words})
	if config.Failed(problems) {
		t.Fatal(problems)
	}
	var more []config.Problem
	cfg.Credentials, more = config.ParseCredentials("credentials.conf", []byte(
		"amqp://boss:b@h/\namqp://feed:f@h/\namqp://alice:a@h/\namqps://bob:secret@h/\namqp://carol:wrong@other/\n"))
	if len(more) > 0 {
		t.Fatal(more)
	}
	return cfg
}

const admin = "admin amqp://boss@h/"

// The permissions of each role, as sr_audit(1) prints them.
func TestRights(t *testing.T) {
	for role, want := range map[Role][3]string{
		Admin:      {".*", ".*", ".*"},
		Feeder:     {".*", ".*", ".*"},
		Source:     {"^q_U.*|^xs_U.*", "^q_U.*|^xs_U.*", "^q_U.*|^x[lrs]_U.*|^x.*public$"},
		Subscriber: {"^q_U.*", "^q_U.*|^xs_U$", "^q_U.*|^x[lrs]_U.*|^x.*public$"},
	} {
		if got := (Account{Name: "U", Role: role}).Rights(); got != (manage.Permission{User: "U", Configure: want[0], Write: want[1], Read: want[2]}) {
			t.Errorf("%s: %v", role, got)
		}
	}
}

// Roles and passwords come from the configuration; the stronger of two roles counts.
func TestRoster(t *testing.T) {
	r := roster(t, admin, "feeder amqp://feed@h/", "declare source alice", "declare subscriber alice", "declare subscribe bob",
		"declare subscriber carol", "declare exchange xextra", "declare env A=b")
	got := ""
	for _, a := range r.Accounts {
		got += fmt.Sprintf("%s %s %s;", a.Name, a.Role, string(a.Password))
	}
	if want := "boss admin b;feed feeder f;alice source a;bob subscriber secret;carol subscriber ;"; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	if x := strings.Join(r.WantedExchanges(), " "); x != "xlog xpublic xreport xwinnow xextra xs_alice xr_alice xl_alice xs_bob xr_bob xl_bob xs_carol xr_carol xl_carol" {
		t.Error(x)
	}
	for _, lines := range [][]string{{"declare source bob"}, {admin, "declare stranger bob"}, {admin, "declare source"},
		{"admin amqp://h/"}, {"admin amqp://:b@h/"}, {"admin sqlite:"}, {admin, "feeder amqp://h"}} {
		if _, err := ReadRoster(configured(t, lines...)); err == nil {
			t.Errorf("%v was understood", lines)
		}
	}
}

// Names of which one begins with another are told.
func TestLeaks(t *testing.T) {
	r := roster(t, admin, "declare source bob", "declare subscriber bobby", "declare source rob")
	if got := r.Leaks(); len(got) != 1 || got[0] != [2]string{"bob", "bobby"} {
		t.Error(got)
	}
}

// holdings is a broker with a bit of everything.
func holdings() *Holdings {
	h := &Holdings{Self: "boss"}
	for _, n := range []string{"alice", "mallory", "guest"} {
		h.Users = append(h.Users, manage.User{Name: n})
	}
	for _, n := range []string{"boss", "root"} {
		h.Users = append(h.Users, manage.User{Name: n, Tags: manage.Tags{manage.Administrator}})
	}
	for _, n := range []string{"", "amq.topic", "xpublic", "xs_alice", "xs_alice_private", "xs_mallory", "xr_mallory", "xl_mallory", "xs_mqtt_public", "xother", "logs"} {
		h.Exchanges = append(h.Exchanges, manage.Exchange{Name: n})
	}
	h.Exchanges = append(h.Exchanges, manage.Exchange{Name: "federation", Internal: true})
	h.Queues = []manage.Queue{
		{Name: "q_alice.sr_subscribe.x", State: "running", Messages: 30000}, {Name: "q_alice.down", State: "down", Messages: 25000},
		{Name: "q_alice.small", State: "down", Messages: 24999}, {Name: "q_mallory.x", State: "running"}, {Name: "cmc_x", State: "running"},
		{Name: "tasks", State: "running", Consumers: 1}, {Name: "old", State: "running"}, {Name: "amq.gen-x"}, {Name: "q_mallory.down", State: "down", Messages: 25000},
		{Name: "q_alice.quorum", State: "recovering", Messages: 30000}, {Name: "q_alice.few", State: "minority", Messages: 30000},
	}
	return h
}

func deletions(cs []Change) (out []string) {
	for _, c := range cs {
		if c.Deletes() {
			out = append(out, string(c.Kind)+" "+c.Object)
		}
	}
	slices.Sort(out)
	return out
}

// What is nobody's is deleted, and only that.
func TestDeletions(t *testing.T) {
	r, o := roster(t, admin, "declare source alice"), Options{SetPasswords: true, MaxQueueSize: 25000}
	got := strings.Join(deletions(PlanUsers(r, holdings(), o)), "\n")
	want := strings.Join([]string{"delete exchange logs", "delete exchange xl_mallory", "delete exchange xr_mallory", "delete exchange xs_mallory",
		"delete queue old", "delete queue q_alice.down", "delete queue q_mallory.down", "delete queue q_mallory.x", "delete user mallory"}, "\n")
	if got != want {
		t.Errorf("%s\n\nnot\n\n%s", got, want)
	}
	got = strings.Join(deletions(Police(r, holdings(), o)), "\n")
	want = "delete queue old\ndelete queue q_alice.down\ndelete queue q_mallory.down"
	if got != want {
		t.Errorf("police: %s\n\nnot\n\n%s", got, want)
	}
}

// A configuration without clients deletes nothing at all.
func TestNoClients(t *testing.T) {
	r, o := roster(t, admin, "feeder amqp://feed@h/", "declare exchange xextra"), Options{SetPasswords: true, MaxQueueSize: 25000}
	if got := slices.Concat(deletions(PlanUsers(r, holdings(), o)), deletions(Police(r, holdings(), o))); len(got) > 0 {
		t.Error(got)
	}
}

// Many deletions at once need force.
func TestTooMany(t *testing.T) {
	many := make([]Change, MaxDeletions+1)
	for i := range many {
		many[i].Kind = DeleteQueue
	}
	if Check(many, false) == nil || Check(many, true) != nil || Check(many[1:], false) != nil {
		t.Error("the bound is elsewhere")
	}
}

// Passwords are set for new users, with reset for all but oneself, and never without one.
func TestPasswords(t *testing.T) {
	lines := []string{admin, "declare source alice", "declare subscriber bob", "declare subscriber carol"}
	plan := func(o Options) string {
		var out []string
		for _, c := range planAccounts(roster(t, lines...), holdings(), o) {
			out = append(out, string(c.Kind)+" "+c.Object)
		}
		return strings.Join(out, ", ")
	}
	for o, want := range map[Options]string{
		{SetPasswords: true}:              "make user bob, leave carol",
		{}:                                "leave bob, leave carol",
		{SetPasswords: true, Reset: true}: "set user alice, make user bob, leave carol",
	} {
		if got := plan(o); got != want {
			t.Errorf("%+v: %s, not %s", o, got, want)
		}
	}
}
