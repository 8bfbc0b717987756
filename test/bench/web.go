package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// web is a private nginx that serves the directory in memory.
type web struct {
	url     string // without a slash at its end
	program *running
}

// webConfig is the one of a busy static server: one worker, files sent by the kernel.
const webConfig = `%sdaemon off;
worker_processes 1;
pid %[2]s/pid;
error_log %[2]s/error.log;
events { worker_connections 512; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 100000;
	client_body_temp_path %[2]s/tmp;
	proxy_temp_path %[2]s/tmp;
	fastcgi_temp_path %[2]s/tmp;
	uwsgi_temp_path %[2]s/tmp;
	scgi_temp_path %[2]s/tmp;
	default_type application/octet-stream;
	server { listen %[3]s; root %[4]q; }
}
`

// serve starts nginx once.
func (b *bed) serve() error {
	if b.web != nil {
		return nil
	}
	dir, err := b.fresh(b.disk)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := ln.Addr().String()
	ln.Close()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n" // else the worker cannot read our directories
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, webConfig, user, dir, addr, b.fast), 0o600); err != nil {
		return err
	}
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx"
	}
	r, err := b.start(context.Background(), program, "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"))
	if err != nil {
		return err
	}
	b.web = &web{url: "http://" + addr, program: r}
	if b.within != nil { // from here nobody reaches it
		_, _, err = b.finish(context.Background(), "curl", "-s", "--retry", "100", "--retry-connrefused", "--retry-delay", "1", "-o", "/dev/null", b.web.url)
		return err
	}
	return b.web.await(addr)
}

// await returns when the server accepts connections.
func (w *web) await(addr string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-w.program.ended:
			return w.program.fault()
		case <-limit:
			return errors.New("nginx does not answer")
		}
	}
}

func (w *web) close() { _ = w.program.stop() }
