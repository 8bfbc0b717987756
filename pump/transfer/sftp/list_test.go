package sftp_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/crypto/ssh"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
)

// neverEnding serves one directory, of which the listing has no end.
func neverEnding(ch ssh.Channel) {
	text := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	for n := 0; ; {
		var head [5]byte
		if _, err := io.ReadFull(ch, head[:]); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:])-1)
		if _, err := io.ReadFull(ch, rest); err != nil {
			return
		}
		kind, body := byte(2), rest[:4] // VERSION, or the number of the request
		switch head[4] {
		case 11: // OPENDIR
			kind, body = 102, text(body, "h")
		case 12: // READDIR
			kind, body = 104, binary.BigEndian.AppendUint32(body, 100)
			for range 100 {
				n++
				body = binary.BigEndian.AppendUint32(text(text(body, fmt.Sprint("name", n)), "long"), 0)
			}
		}
		packet := append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+1)), kind)
		if _, err := ch.Write(append(packet, body...)); err != nil {
			return
		}
	}
}

// A directory is given as it comes: whoever has enough of one that has no end can say so.
func TestEndlessDirectory(t *testing.T) {
	server := hostile(t, "", nil, neverEnding)
	s := sftp.New(server.Options)
	defer s.Close()
	enough, n := errors.New("enough"), 0
	err := s.List(t.Context(), "sftp://"+server.addr+"/x", func(transfer.Entry) error {
		if n++; n == 50_000 {
			return enough
		}
		return nil
	})
	if err != enough || n != 50_000 {
		t.Errorf("%d names, %v", n, err)
	}
}

// A server that lets a connection have one session is listed in it.
func TestListInOneSession(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := hostile(t, dir, nil, nil)
	server.most.Store(1)
	s := sftp.New(server.Options)
	defer s.Close()
	var names []string
	for range 2 {
		names = nil
		err := s.List(t.Context(), "sftp://"+server.addr+dir, func(e transfer.Entry) error {
			names = append(names, e.Name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names: %q", names)
	}
}
