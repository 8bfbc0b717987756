package man

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/test/rabbit"
)

// A pump is the tutorial's three hosts, as three homes on this one.
type pump struct {
	t      *testing.T
	node   *rabbit.Node
	dir    string
	source *runner
	relay  *runner
	client *runner
}

// The pump of the tutorial works as it is shown: its users, its configurations and the order
// in which they are started, on a RabbitMQ of its own.
func TestThreeHosts(t *testing.T) {
	p := &pump{t: t, node: rabbit.Own(t), dir: t.TempDir()}
	bin := build(t)
	p.source, p.relay, p.client = newRunner(t, bin), newRunner(t, bin), newRunner(t, bin)
	p.addUsers()
	p.host(p.source, "alice", "SECRET1", "/data", "watch", "post")
	p.host(p.relay, "feeder", "SECRET2", "/copies", "winnow", "sarra")
	p.host(p.client, "carol", "SECRET3", "/data", "subscribe")
	p.write("data/radar/old.gif")
	if err := os.Mkdir(filepath.Join(p.dir, "copies"), 0o700); err != nil {
		t.Fatal(err)
	}

	early := example{how: "run", script: "sr_subscribe foreground radar || echo $?\n", want: "3\n"}
	p.client.run(page{file: "srpump.7"}, early)
	start := func(r *runner, phrase, script string) {
		r.start(page{file: "srpump.7"}, example{script: script + "\n", phrase: phrase})
	}
	start(p.source, "serving", "sr_serve -listen "+p.source.address+" "+p.dir+"/data")
	start(p.source, "watching", "sr_watch foreground radar")
	start(p.relay, "consuming", "sr_winnow foreground radar")
	start(p.relay, "consuming", "sr_sarra foreground radar")
	start(p.relay, "serving", "sr_serve -listen "+p.relay.address+" "+p.dir+"/copies")
	start(p.client, "consuming", "sr_subscribe foreground radar")
	p.write("data/radar/new.gif")
	p.write("data/radar/not.tmp")
	p.source.run(page{file: "srpump.7"}, example{how: "run", script: "sr_post foreground radar\n"})
	p.client.run(page{file: "srpump.7"}, example{how: "until",
		script: "cd " + p.dir + "/incoming/*/radar\ncat new.gif old.gif\nls\n",
		want:   "data/radar/new.gif\ndata/radar/old.gif\nnew.gif\nold.gif\n"})
}

// addUsers runs what the tutorial tells the administrator to.
func (p *pump) addUsers() {
	script := `rabbitmqctl() { printf '%s\037' "$@"; echo; }` + "\n"
	for _, l := range find(p.t, "srpump(7)").lines {
		l = strings.ReplaceAll(l, `\e`, `\`)
		if command, ok := strings.CutPrefix(l, "$ rabbitmqctl "); ok {
			script += "rabbitmqctl " + command + "\n"
		} else if more, ok := strings.CutPrefix(l, ">   '"); ok {
			script += "'" + more + "\n"
		}
	}
	out, log, err := p.source.shell(script)
	if err != nil || strings.Count(out, "\n") != 6 {
		p.t.Fatalf("the administrator's commands: %v\n%s%s", err, out, log)
	}
	for line := range strings.Lines(out) {
		args := strings.Split(strings.TrimSuffix(line, "\x1f\n"), "\x1f")
		if _, err := p.node.Ctl(args...); err != nil {
			p.t.Fatal(err)
		}
	}
}

// host gives a home the configurations of these components, with the names of hosts and
// directories of the tutorial replaced by those of here.
func (p *pump) host(r *runner, user, password, data string, components ...string) {
	addresses := strings.NewReplacer("source.example:8000", p.source.address, "pump.example:8000", p.relay.address,
		"pump.example/", p.node.Addr()+"/", "localhost/", p.node.Addr()+"/", "/incoming", p.dir+"/incoming", " /data", " "+p.dir+data)
	config := filepath.Join(r.dir, ".config/sarra")
	for _, c := range components {
		text, err := os.ReadFile(filepath.Join("../examples/pump", c, "radar.conf"))
		if err != nil {
			p.t.Fatal(err)
		}
		p.put(filepath.Join(config, c, "radar.conf"), addresses.Replace(string(text)))
	}
	p.put(filepath.Join(config, "credentials.conf"), fmt.Sprintf("amqp://%s:%s@%s/\n", user, password, p.node.Addr()))
}

// write makes a file that holds its own name.
func (p *pump) write(name string) { p.put(filepath.Join(p.dir, name), name+"\n") }

func (p *pump) put(path, text string) {
	p.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// The configurations the tutorial shows are those of examples.
func TestTutorialShowsExamples(t *testing.T) {
	text := strings.ReplaceAll(strings.Join(find(t, "srpump(7)").lines, "\n"), `\e`, `\`)
	for _, c := range []string{"watch", "winnow", "sarra", "subscribe"} {
		data, err := os.ReadFile(filepath.Join("../examples/pump", c, "radar.conf"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "#") && !strings.Contains(text, line) {
				t.Errorf("the tutorial does not show %q of %s", line, c)
			}
		}
	}
}
