// Package mirror tells the services of SFM of the WARCs a pump has brought to another host: it is
// asked by the pump for each file (sr_hooks(7), exec:), verifies the one checksum the pump does not
// know, and leaves a WARC created message that has the path of the copy. It knows no broker.
package mirror
