package post

import "testing"

// The vectors of the Python tools, for four exchanges.
func TestShardVectors(t *testing.T) {
	for sum, want := range map[string]string{
		"d,6f5902ac237024bdd0c176cb93063dc4": "x02", "d,9dd4e461268c8034f5c8564e155c67a6": "x03",
		"R,abc": "x00", "L,abd": "x03", "0,1234": "x02", "z,d": "x02",
	} {
		f, err := ParseSum(sum)
		if got := ShardName("x", f.Shard(4)); err != nil || got != want {
			t.Errorf("%s goes to %s, not %s (%v)", sum, got, want, err)
		}
	}
}
