package pump

import (
	"net"
	"net/netip"
)

// HoldsAddress reports whether an interface of this host has the address, as the host of
// two that is to work does (sr_options(5), vip). An address nobody can read is held by
// no host.
func HoldsAddress(address string) bool {
	want, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().WithZone("").Unmap() == want.Unmap() {
			return true
		}
	}
	return false
}
