package transfer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSRigour is how servers' certificates are judged, sr_options(5), tls_rigour.
type TLSRigour int

const (
	TLSNormal TLSRigour = iota // certificate and host name verified
	TLSStrict                  // the same, and nothing before TLS 1.2 by any default of the system
	TLSLax                     // nothing verified, and TLS 1.0 allowed
)

// TLSFiles name PEM files that are for one server, sr_credentials(5), OPTIONS.
type TLSFiles struct {
	CA   string // authorities to believe instead of the system's; empty: the system's
	Cert string // the certificate we show when asked; empty: none
	Key  string // its private key; empty: it stands in Cert
}

// TLS is how a server proves who it is, and how we do. The zero value verifies against the system's authorities.
type TLS struct {
	Rigour TLSRigour
	// Files finds what is special to a server; nil: nothing is.
	Files func(host, port string) TLSFiles
}

// Config makes the configuration for one server. Files that cannot be used are an error that
// names them and says nothing of what is in them.
func (t TLS) Config(host, port string) (*tls.Config, error) {
	conf, err := t.configOf(t.filesOf(host, port))
	if err == nil {
		conf.ServerName = host
	}
	return conf, err
}

func (t TLS) filesOf(host, port string) TLSFiles {
	if t.Files == nil {
		return TLSFiles{}
	}
	return t.Files(host, port)
}

func (t TLS) configOf(files TLSFiles) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Rigour == TLSLax {
		conf.MinVersion = tls.VersionTLS10
		conf.InsecureSkipVerify = true
	}
	if files.CA != "" {
		pem, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("cannot use ca_file %q: %w", files.CA, plain(err))
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cannot use ca_file %q: no certificate in PEM form in it", files.CA)
		}
	}
	if files.Cert == "" {
		return conf, nil
	}
	if files.Key == "" {
		files.Key = files.Cert
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot use client_cert %q: %w", files.Cert, err)
	}
	conf.Certificates = []tls.Certificate{pair}
	return conf, nil
}

// ExplainTLS adds what to do to the failure of a handshake, where something can be done here.
func ExplainTLS(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w (if its authority is to be believed, name it with ca_file= in credentials.conf)", err)
	case errors.As(err, &name):
		return fmt.Errorf("%w (address the server by a name of its certificate)", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%w (the server needs a new certificate, or the clock here is wrong)", err)
	case errors.As(err, &alert) && (alert == alertCertificateRequired || alert == alertBadCertificate):
		return fmt.Errorf("%w (the server wants a certificate of ours: client_cert= in credentials.conf)", err)
	}
	return err
}

const ( // RFC 8446, 6.2
	alertBadCertificate      tls.AlertError = 42
	alertCertificateRequired tls.AlertError = 116
)
