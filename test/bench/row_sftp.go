package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"
)

const (
	smallSFTP     = 2_000
	smallSFTPSize = 4 << 10
)

// sshd is a private OpenSSH, a home that trusts it, and how to call its client.
type sshd struct {
	url     string // sftp://user@host:port
	home    string
	client  []string // of sftp(1), without what to do
	program *running
}

const sshdConfig = `ListenAddress %s
Port %s
HostKey %[3]s/host
AuthorizedKeysFile %[3]s/id.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
LogLevel ERROR
Subsystem sftp internal-sftp
`

// ssh starts a server.
func (b *bed) ssh(ctx context.Context) (*sshd, error) {
	dir, err := b.fresh(b.disk)
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"host", "id"} {
		if _, _, err := b.finish(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := ln.Addr().String()
	ln.Close()
	host, port, _ := net.SplitHostPort(addr)
	s := &sshd{url: "sftp://" + who.Username + "@" + addr, home: filepath.Join(dir, "home")}
	known := filepath.Join(s.home, ".ssh/known_hosts")
	s.client = []string{"sftp", "-q", "-F", "none", "-i", filepath.Join(dir, "id"), "-P", port, "-o", "UserKnownHostsFile=" + known}
	public, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err == nil {
		err = writeAll(map[string]string{
			filepath.Join(dir, "config"): fmt.Sprintf(sshdConfig, host, port, dir),
			known:                        "[" + host + "]:" + port + " " + string(public),
			filepath.Join(s.home, ".config/sarra/credentials.conf"): s.url + "/ ssh_keyfile=" + filepath.Join(dir, "id") + "\n",
		})
	}
	if err == nil && os.Getuid() == 0 {
		err = os.MkdirAll("/run/sshd", 0o755) // sshd started by root asks for it
	}
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("sshd")
	if err != nil {
		program = "/usr/sbin/sshd"
	}
	if s.program, err = b.start(ctx, program, "-D", "-e", "-f", filepath.Join(dir, "config")); err != nil {
		return nil, err
	}
	return s, (&web{program: s.program}).await(addr)
}

func writeAll(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sftp1g: one large file, without and with md5, beside OpenSSH's client, which verifies nothing.
func sftp1g(ctx context.Context, b *bed) ([]finding, error) {
	size := b.of(gib)
	return b.overSFTP(ctx, 1, size, func(v float64) float64 { return float64(size) / 1e6 / v }, "MB/s", 1)
}

// sftpSmall: many small files.
func sftpSmall(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(smallSFTP)
	return b.overSFTP(ctx, n, smallSFTPSize, func(v float64) float64 { return float64(n) / v }, "files/s", 2)
}

func (b *bed) overSFTP(ctx context.Context, n, size int, figure func(seconds float64) float64, unit string, least float64) (_ []finding, err error) {
	s, err := b.ssh(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.program.stop()) }()
	src, err := b.tree(b.fast, n, size)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(src)
	h := &haul{b: b, src: src, into: b.fast, n: n}
	got, err := play(ctx, b.rounds,
		contender{"sum 0", func(ctx context.Context) (sample, error) { return h.overSFTP(ctx, s, "0") }},
		contender{"sum d", func(ctx context.Context) (sample, error) { return h.overSFTP(ctx, s, "d") }},
		contender{"sftp", func(ctx context.Context) (sample, error) { return h.byOpenSSH(ctx, s) }})
	if err != nil {
		return nil, err
	}
	speed := func(of string) []float64 {
		v := got[of].of("seconds")
		for i := range v {
			v[i] = figure(v[i])
		}
		return v
	}
	return []finding{
		{what: unit + ", sum 0", ours: speed("sum 0"), anchor: speed("sftp"), versus: "OpenSSH sftp", goal: goal{ratio: true, least: least}},
		{what: unit + ", md5 verified", ours: speed("sum d"), anchor: speed("sftp"), versus: "OpenSSH sftp"},
	}, nil
}

// overSFTP times sr_subscribe reading announcements from a file, from its start to its end.
func (h *haul) overSFTP(ctx context.Context, s *sshd, sum string) (sample, error) {
	list, _, err := h.b.finish(ctx, h.b.program("sr_post"), "-pb", "-", "-pbu", s.url+h.src+"/", "-pbd", h.src, "-sum", sum, "-loglevel", "warning", "-p", h.src)
	if err != nil {
		return nil, err
	}
	return h.fetched(ctx, func(dir string) (sample, error) {
		cmd := h.b.command(ctx, h.b.program("sr_subscribe"), "foreground", "-b", "-", "-directory", dir, "-fsync", "off", "-loglevel", "warning")
		cmd.Env = append(cmd.Environ(), "HOME="+s.home, "XDG_CONFIG_HOME="+filepath.Join(s.home, ".config"))
		cmd.Stdin = strings.NewReader(list)
		start := time.Now()
		said, err := cmd.CombinedOutput()
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("cannot fetch over SFTP: %w: %s", err, tail(said))
		}
		return sample{"seconds": took.Seconds()}, nil
	})
}

// byOpenSSH times sftp(1) with the one command that fetches all.
func (h *haul) byOpenSSH(ctx context.Context, s *sshd) (sample, error) {
	return h.fetched(ctx, func(dir string) (sample, error) {
		batch := filepath.Join(h.b.disk, "batch")
		if err := os.WriteFile(batch, []byte("mget "+h.src+"/* "+dir+"/\n"), 0o600); err != nil {
			return nil, err
		}
		args := append(append([]string{}, s.client[1:]...), "-b", batch, strings.TrimPrefix(s.url[:strings.LastIndex(s.url, ":")], "sftp://"))
		_, took, err := h.b.finish(ctx, s.client[0], args...)
		return sample{"seconds": took.Seconds()}, err
	})
}
