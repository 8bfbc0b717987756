package ftp

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"srpump/pump/transfer"
)

// Rename implements transfer.Writer. Where the server does not rename over a file, that file is removed first.
func (f *FTP) Rename(ctx context.Context, from, to string) error {
	at, name, err := f.locate(to)
	if err != nil {
		return transfer.Fail("rename", to, classify(err), err)
	}
	return f.do(ctx, "rename", from, func(s *session) error {
		if at != s.at {
			return class(transfer.Unsupported, errors.New("the new name is on another server"))
		}
		target := s.control.path(name)
		err := s.rename(target)
		if err == nil || s.broken || !s.is(target) {
			return err
		}
		if _, err := s.expect(250, "DELE %s", target); err != nil {
			return err
		}
		return s.rename(target)
	})
}

func (s *session) rename(target string) error {
	if _, err := s.expect(350, "RNFR %s", s.path); err != nil {
		return err
	}
	if _, err := s.expect(250, "RNTO %s", target); err != nil {
		if classify(err) == transfer.NotFound { // the old name was found
			err = class(transfer.Temporary, err)
		}
		return err
	}
	return nil
}

// is reports whether there is a file of that name.
func (s *session) is(path string) bool {
	size, at, err := s.look(path)
	return err == nil && (size >= 0 || !at.IsZero())
}

// Remove implements transfer.Writer. The server says 550 for any reason; what is there nevertheless could not be removed.
func (f *FTP) Remove(ctx context.Context, url string) error {
	return f.do(ctx, "remove", url, func(s *session) error {
		_, refused := s.expect(250, "DELE %s", s.path)
		if refused == nil || s.broken {
			return refused
		}
		_, err := s.expect(250, "RMD %s", s.path)
		if err == nil || s.broken {
			return err
		}
		if _, in := s.expect(250, "CWD %s", s.path); in == nil {
			return class(transfer.Refused, err)
		}
		if s.broken || !s.is(s.path) {
			return err
		}
		return class(transfer.Forbidden, refused)
	})
}

// Mkdir implements transfer.Writer. What is there already is found by going into it; mode is given to what is made,
// where the server lets it.
func (f *FTP) Mkdir(ctx context.Context, url string, mode fs.FileMode) error {
	return f.do(ctx, "mkdir", url, func(s *session) error {
		return s.mkdir(path.Clean(s.path), mode)
	})
}

func (s *session) mkdir(dir string, mode fs.FileMode) error {
	refused := s.makeOne(dir, mode)
	if refused == nil || s.broken {
		return refused
	}
	above := path.Dir(dir)
	if above == dir {
		return refused
	}
	if err := s.mkdir(above, mode); err != nil {
		return err
	}
	return s.makeOne(dir, mode) // another may have made it meanwhile
}

func (s *session) makeOne(dir string, mode fs.FileMode) error {
	_, err := s.expect(257, "MKD %s", dir)
	switch {
	case s.broken:
		return err
	case err != nil:
		if _, missing := s.expect(250, "CWD %s", dir); missing == nil || s.broken {
			return missing
		}
		return class(transfer.Forbidden, err)
	case mode != 0:
		_, _, err = s.command("SITE CHMOD %04o %s", mode.Perm(), dir)
		if s.broken {
			return err
		}
	}
	return nil
}

// Set implements transfer.Writer: SITE CHMOD, and MFMT or, as vsftpd has it, MDTM with a time.
func (f *FTP) Set(ctx context.Context, url string, a transfer.Attributes) error {
	return f.do(ctx, "set", url, func(s *session) error {
		if !a.ModTime.IsZero() {
			if err := s.setTime(a.ModTime.UTC()); err != nil {
				return err
			}
		}
		if a.Mode == 0 {
			return nil
		}
		_, err := s.expect(200, "SITE CHMOD %04o %s", a.Mode.Perm(), s.path)
		return unable(err, s.broken)
	})
}

func (s *session) setTime(at time.Time) error {
	command := "MFMT"
	if !s.has(command) {
		command = "MDTM"
	}
	_, err := s.expect(213, "%s %s %s", command, at.Format("20060102150405"), s.path)
	if err != nil || s.has(command) && command == "MFMT" {
		return unable(err, s.broken)
	}
	// MDTM with a time is no standard: look whether it was taken.
	if _, now, err := s.look(s.path); err != nil || !now.Equal(at.Truncate(time.Second)) {
		return unable(&replyError{502, "the time was not taken"}, s.broken)
	}
	return nil
}

// unable takes a refusal to change attributes for what the server does not do for this user, who could write the file
// itself.
func unable(err error, broken bool) error {
	var reply *replyError
	if errors.As(err, &reply) && !broken && (reply.code/100 == 5 && classOf(reply) != transfer.NotFound) {
		return class(transfer.Unsupported, err)
	}
	return err
}
