package warc

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
)

// golden are the records of testdata/golden.warc.gz, which are, byte by byte, what warcio
// writes for the archive of a news index.
func golden() []*Record {
	info := &Record{Fields: Fields{
		{FieldType, Info}, {FieldID, "<urn:uuid:a86b64cc-5d5f-4fae-a48a-7258996a2fbe>"},
		{FieldFilename, "mc-20261121041948-1-h1.warc.gz"}, {FieldDate, "2026-11-21T04:19:48Z"},
	}, ContentType: FieldsType}
	page := &Record{Fields: Fields{
		{FieldDate, "2023-11-14T22:13:20Z"}, {FieldType, Response}, {FieldID, "<urn:uuid:195dc8da-1100-475f-8545-d8af710778b4>"},
		{FieldURI, "https://example.com/a"}, {FieldContentLength, "1"},
	}, ContentType: "application/http; msgtype=response"}
	return []*Record{
		info.With(Fields{{"hostname", "h1"}, {"software", "mediacloud story-indexer ArchiveWriter"}, {"format", "WARC file version 1.0"}}.String()),
		page.With("HTTP/1.0 200 OK\r\nContent-Type: text/html; encoding=utf-8\r\nContent-Length: 18\r\n\r\n<html>café</html>"),
	}
}

func inflate(t testing.TB, file []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What warcio writes is read without complaint, and written by us comes out the same.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/golden.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	all, faults := readAll(t, bytes.NewReader(want), ReadOptions{})
	if len(faults) > 0 || len(all) != 2 || all[1].offset != 313 || !strings.HasSuffix(all[1].block, "<html>café</html>") {
		t.Errorf("read %+v, %v", all, faults)
	}
	got, _ := written(t, WriteOptions{}, golden()...)
	if a, b := inflate(t, got), inflate(t, want); !bytes.Equal(a, b) {
		t.Errorf("written\n%s\nnot\n%s", a, b)
	}
	plain, _ := written(t, WriteOptions{Plain: true}, golden()...)
	if !bytes.Equal(plain, inflate(t, want)) {
		t.Error("the uncompressed form differs")
	}
}

// What a payload is to be sealed with is known before it is written, for a revisit record.
func TestPayloadDigest(t *testing.T) {
	for http, want := range map[bool]string{true: "sha1:HIDCVLBW65YTOJDCGLH4UFGCUVYVAEJR", false: "sha1:FMDWPRURHQQPTQDMRU6MTJFL5TECR4A7"} {
		if got, err := PayloadDigest(golden()[1].Block, http, SHA1, false); err != nil || got != want {
			t.Errorf("%s, not %s: %v", got, want, err)
		}
	}
	if _, err := PayloadDigest(golden()[1].Block, true, "crc32", false); err == nil {
		t.Error("an unknown algorithm is taken")
	}
}

// Digests as other writers make them are understood.
func TestDigestForms(t *testing.T) {
	for _, o := range []WriteOptions{{Hex: true}, {Digest: SHA256}, {Digest: SHA256, Hex: true}, {Digest: NoDigest}, {Digest: "sha512"}, {Digest: "md5", Hex: true}} {
		file, _ := written(t, o, exchange(V10, "http://a.example/", "body"))
		if _, faults := readAll(t, bytes.NewReader(file), ReadOptions{}); len(faults) > 0 {
			t.Errorf("%+v: %v", o, faults)
		}
		if has := bytes.Contains(inflate(t, file), []byte(FieldBlockDigest)); has != (o.Digest != NoDigest) {
			t.Errorf("%+v: a digest is there: %v", o, has)
		}
	}
	if _, err := NewWriter(io.Discard, WriteOptions{Digest: "crc32"}); err == nil {
		t.Error("an unknown algorithm is taken")
	}
	for _, text := range []string{"sha1:nothing", "nocolon", "sha1:" + strings.Repeat("g", 40)} {
		if _, err := readSeal(FieldBlockDigest, text); err == nil {
			t.Errorf("%q is a digest", text)
		}
	}
}
