package sftp

import (
	"errors"
	"io/fs"

	"github.com/pkg/sftp"

	"srpump/pump/transfer"
)

// Failures that no server says by itself.
var (
	errIrregular = errors.New("it is not a regular file")
	errChanged   = errors.New("the source has changed")
)

// fail makes the error of an operation; nil stays nil.
func fail(op, raw string, err error) error {
	if err == nil {
		return nil
	}
	return transfer.Fail(op, raw, classOf(err), err)
}

// classOf sorts what servers answer (draft-ietf-secsh-filexfer-02, 7).
func classOf(err error) transfer.Class {
	var setup *setupError
	var status *sftp.StatusError
	switch {
	case errors.As(err, &setup), errors.Is(err, fs.ErrPermission):
		return transfer.Forbidden
	case errors.Is(err, fs.ErrNotExist):
		return transfer.NotFound
	case errors.Is(err, errIrregular):
		return transfer.Refused
	case errors.Is(err, errChanged):
		return transfer.Changed
	case errors.As(err, &status):
		switch status.FxCode() {
		case sftp.ErrSSHFxOpUnsupported:
			return transfer.Unsupported
		case sftp.ErrSSHFxBadMessage: // what OpenSSH makes of a name too long
			return transfer.Refused
		}
	}
	return transfer.Temporary
}
