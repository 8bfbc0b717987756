package test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// The audit is started with the host where there is an administrator, brings back what died, and is
// stopped first.
func TestAuditLooksAfterHost(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	h.write("home/.config/sarra/admin.conf", "admin amqp://admin:SECRET@127.0.0.1:1/\n")
	h.write("home/.config/sarra/audit.conf", "heartbeat 1s\n")
	out, errs := h.run(0, "", "sr", "start")
	if !strings.Contains(out, "sr_audit default started") || !strings.Contains(out, "sr_subscribe x started") {
		t.Fatalf("said %q %q", out, errs)
	}
	for _, c := range h.status(0).Configurations {
		if c.Config == "x" {
			must(t, syscall.Kill(c.PID, syscall.SIGKILL))
			gone(t, c.PID)
		}
	}
	log := func() string {
		b, _ := os.ReadFile(h.path("home/.cache/sarra/log/sr_audit_default_01.log"))
		return string(b)
	}
	waitFor(t, "it stays dead", func() bool { return strings.Contains(log(), "sr_subscribe x started") }, log)
	if s := h.status(0); s.Running != 2 {
		t.Errorf("%+v", s)
	}
	out, _ = h.run(0, "", "sr", "stop")
	if !strings.HasPrefix(out, "sr_audit default stopped") || len(h.processes()) != 0 {
		t.Errorf("said %q; %v run", out, h.processes())
	}
	if strings.Contains(h.secrets(), "SECRET") {
		t.Error("the password is told")
	}
}
