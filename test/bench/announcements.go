package main

import (
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// copies is from how many sources each fingerprint comes to a winnower, and
// lags is by how many fingerprints each source is behind the first.
const copies = 3

var lags = [copies]int{0, 37, 101}

// interleaved are n announcements of ⌈n/copies⌉ fingerprints, from sources
// that send the same at nearly the same time.
func interleaved(n int) (all []amqp.Publishing, keys []string) {
	prints := (n + copies - 1) / copies
	for at := 0; len(all) < n; at++ {
		for source, lag := range lags {
			if i := at - lag; i >= 0 && i < prints && len(all) < n {
				p, key := numbered(i, source)
				all, keys = append(all, p), append(keys, key)
			}
		}
	}
	return all, keys
}

// numbered is what sr_post sends for file i of a source.
func numbered(i, source int) (amqp.Publishing, string) {
	path := fmt.Sprintf("20261121/data/d%03d/file%06d.grib2", i%100, i)
	return amqp.Publishing{
		ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent,
		Headers: amqp.Table{
			"atime": "20261121082849.276433219", "mtime": "20261121082721.364430075", "mode": "644",
			"parts": "1,1024,1,0,0", "sum": fmt.Sprintf("d,%032x", i+1),
			"from_cluster": "127.0.0.1", "to_clusters": "127.0.0.1", "source": "admin",
		},
		Body: fmt.Appendf(nil, "20261121083703.668336075 http://source%d.example.org:8000/ %s \n", source, path),
	}, fmt.Sprintf("v02.post.20261121.data.d%03d.file%06d.grib2", i%100, i)
}
