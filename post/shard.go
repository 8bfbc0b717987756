package post

import "fmt"

// Shard is the number, from 0 to n-1, of the exchange an announcement with this fingerprint
// goes to where it is split into n: the sum of the bytes of the whole header "sum", modulo n,
// as the Python tools count it.
func (f Fingerprint) Shard(n int) int {
	sum := 0
	for _, b := range []byte(f.String()) {
		sum += int(b)
	}
	return sum % n
}

// ShardName is the exchange of a shard: two digits behind the name.
func ShardName(exchange string, shard int) string { return fmt.Sprintf("%s%02d", exchange, shard) }
