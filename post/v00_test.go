package post

import (
	"errors"
	"testing"
	"time"

	"srpump/partition"
)

const helloMD5 = "6f5902ac237024bdd0c176cb93063dc4"

// What came before v02 is read as v02: checksum d, one part, source metpx, the rest of the topic kept.
func TestDecodeV00(t *testing.T) {
	a, err := Decode("v00.dd.notify.radar.GIF", map[string]any{"filename": "x:y", "sum": "forged", "parts": "forged"},
		[]byte(helloMD5+" 12 http://h.example/ radar/GIF/a%20b.gif\n"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Topic != "v02.post.radar.GIF" || a.Base != "http://h.example/" || a.Path != "radar/GIF/a b.gif" || a.Sum.String() != "d,"+helloMD5 ||
		a.Block != partition.WholeFile(12) || a.Header(HeaderSource) != "metpx" || a.Header("filename") != "x:y" || !a.Time.IsZero() {
		t.Errorf("%+v", a)
	}
	a.Time = At(time.Unix(1700000000, 0))
	m, err := EncodeV02(a)
	if err != nil || string(m.Body) != "20231114221320.00 http://h.example/ radar/GIF/a%20b.gif \n" || m.Headers["sum"] != "d,"+helloMD5 || m.Headers["parts"] != "1,12,1,0,0" {
		t.Errorf("%+v %v", m, err)
	}
}

func TestMalformedV00(t *testing.T) {
	for topic, body := range map[string]string{
		"v00.dd.notify.few":  helloMD5 + " 12 http://h/",
		"v00.dd.notify.sum":  "zz 12 http://h/ a",
		"v00.dd.notify.size": helloMD5 + " -1 http://h/ a",
		"v00":                helloMD5 + " x http://h/ a",
		"v01.post.a":         "20200102030405.25 http://h/ a",
	} {
		if a, err := Decode(topic, nil, []byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s %q: %+v %v", topic, body, a, err)
		}
	}
	if _, err := Decode("v001.a", nil, []byte("20200102030405.25 http://h/ a")); err != nil {
		t.Errorf("a topic that only looks so: %v", err)
	}
}

func TestPrefixRead(t *testing.T) {
	for in, want := range map[string]string{"v00.dd.notify": "v02.post", "v00": "v02.post", "v02.post": "v02.post", "v000.a": "v000.a", "": ""} {
		if got := PrefixRead(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzDecodeV00(f *testing.F) {
	f.Add("v00.dd.notify.a", helloMD5+" 12 http://h/ a%20b")
	f.Add("v00", helloMD5+" 9223372036854775807 file: /a\n")
	f.Fuzz(func(t *testing.T, topic, body string) {
		a, err := Decode("v00."+topic, map[string]any{}, []byte(body))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		a.Time = At(time.Unix(1700000000, 0))
		m, err := EncodeV02(a)
		if err != nil {
			return
		}
		back, err := DecodeV02(m.Topic, m.Headers, m.Body)
		if err != nil || back.Path != a.Path || back.Sum != a.Sum || back.Block != a.Block {
			t.Fatalf("%q: %+v read back as %+v (%v)", body, a, back, err)
		}
	})
}
