package pump

import (
	"testing"

	"srpump/pump/config"
)

// sr_options(5): blocksize, parts and compat.
func TestCutter(t *testing.T) {
	const mib = 1 << 20
	h := newHouse(t)
	for _, c := range []struct {
		args []string
		size int64
		want string
	}{
		{nil, 1 << 40, "1,1099511627776,1,0,0"},
		{[]string{"-blocksize", "1"}, 250, "1,250,1,0,0"},
		{[]string{"-blocksize", "100"}, 100, "1,100,1,0,0"},
		{[]string{"-blocksize", "100"}, 250, "i,100,3,50,0"},
		{[]string{"-blocksize", "100B"}, 300, "i,100,3,0,0"},
		{[]string{"-blocksize", "50M"}, 1 << 30, "i,52428800,21,25165824,0"},
		{[]string{"-blocksize", "0"}, 60 * mib, "i,20971520,3,0,0"},
		{[]string{"-blocksize", "0"}, 600 * mib, "i,62914560,10,0,0"},
		{[]string{"-blocksize", "0"}, 6144 * mib, "i,524288000,13,150994944,0"},
		{[]string{"-blocksize", "2"}, 1 << 30, "i,1024,1048576,0,0"},
		{[]string{"-blocksize", "0", "-compat", "v02"}, 60 * mib, "i,20971519,4,3,0"},
		{[]string{"-blocksize", "100", "-compat", "v02"}, 300, "i,99,4,3,0"},
		{[]string{"-blocksize", "100", "-compat", "v02"}, 250, "i,100,3,50,0"},
		{[]string{"-blocksize", "100", "-parts", "1"}, 250, "1,250,1,0,0"},
		{[]string{"-blocksize", "100", "-parts", "p"}, 250, "1,250,1,0,0"},
		{[]string{"-parts", "0"}, 60 * mib, "i,20971520,3,0,0"},
		{[]string{"-parts", "i"}, 60 * mib, "i,20971520,3,0,0"},
		{[]string{"-parts", "i,100"}, 250, "i,100,3,50,0"},
		{[]string{"-parts", "0,100"}, 250, "i,84,3,82,0"},
		{[]string{"-parts", "0,1k"}, 20 * 1024, "i,2048,10,0,0"},
	} {
		p := h.poster(config.Post, c.args...)
		if got := p.cut.block(c.size).String(); got != c.want {
			t.Errorf("%q, %d bytes: %s, want %s", c.args, c.size, got, c.want)
		}
	}
	for _, parts := range []string{"1,5", "p,5", "i,1", "i,0", "0,0", "i,", "i,many", "x", "i,5,6", "0,-1"} {
		if _, err := NewPoster(h.config(config.Post, "-post_base_url", "http://h/", "-parts", parts), h.host()); err == nil {
			t.Errorf("parts %s accepted", parts)
		}
	}
}
