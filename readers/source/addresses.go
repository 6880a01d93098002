package source

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// addresses decides to which addresses an Opener connects. A public server must not lead a request into the user's
// network: by a redirect, by a name whose address changes, or by an address in a document.
//
//	kind of address              connects
//	public                       always
//	private, loopback            if the user named the host, or another host with this address
//	link-local, metadata         if the user named this address itself, by number
//
// The check is in the dialer, after the name of a host was resolved. Behind a proxy the proxy resolves names, so only
// numbers are checked.
type addresses struct {
	mu      sync.Mutex
	named   map[string]bool     // hosts that the user named
	foreign map[string]bool     // hosts that only a document named
	found   map[netip.Addr]bool // private addresses of named hosts
	proxies map[string]bool     // host:port
}

// AddressError is the error of a connection to an address that the Opener does not connect to. It wraps ErrForbidden.
type AddressError struct {
	Host    string     // as in the URL, with the port if that is known
	Address netip.Addr // not valid if the host is a number in an unusual form
	IsLocal bool       // the address is of link-local or metadata services, which must be named by number
}

// Error names the host, its address, and the reason.
func (e *AddressError) Error() string {
	kind := "a private or loopback address"
	if e.IsLocal {
		kind = "an address of link-local or metadata services"
	}
	if !e.Address.IsValid() {
		return fmt.Sprintf("%s: may be %s: %v", e.Host, kind, ErrForbidden)
	}
	return fmt.Sprintf("%s: %s is %s: %v", e.Host, e.Address, kind, ErrForbidden)
}

// Unwrap makes it an ErrForbidden.
func (e *AddressError) Unwrap() error { return ErrForbidden }

// Place returns the URL that allows the address: see AllowPrivate.
func (e *AddressError) Place() string {
	host, port, err := net.SplitHostPort(e.Host)
	if err != nil {
		host, port = strings.Trim(e.Host, "[]"), ""
	}
	if e.IsLocal && e.Address.IsValid() {
		host = e.Address.String()
	}
	u := url.URL{Scheme: "http", Host: host, Path: "/"}
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	switch port {
	case "", "80":
	case "443":
		u.Scheme = "https"
	default:
		u.Host = net.JoinHostPort(host, port)
	}
	return u.String()
}

// AllowPrivate lets o connect to the hosts of these URLs, which the user named, even if their addresses are private. Other
// names are ignored. Opening a URL has the same effect, see ForbidPrivate.
func (o *Opener) AllowPrivate(names ...string) {
	for _, name := range names {
		if u, err := url.Parse(Outer(name)); err == nil && u.Host != "" {
			o.addresses.allow(u.Hostname())
		}
	}
}

// ForbidPrivate says that a document named these URLs, and not the user. Opening them does not let o connect to private
// addresses of their hosts, unless AllowPrivate was called for these before.
func (o *Opener) ForbidPrivate(names ...string) {
	a := &o.addresses
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		if u, err := url.Parse(Outer(name)); err == nil && u.Host != "" && !a.named[hostKey(u.Hostname())] {
			note(&a.foreign, hostKey(u.Hostname()))
		}
	}
}

// allow notes that the user named a host.
func (a *addresses) allow(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	note(&a.named, hostKey(host))
}

// opened notes that a URL of a host is opened, which the user named unless a document did.
func (a *addresses) opened(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key := hostKey(host); !a.foreign[key] {
		note(&a.named, key)
	}
}

func note[K comparable](all *map[K]bool, key K) {
	if *all == nil {
		*all = map[K]bool{}
	}
	(*all)[key] = true
}

// hostKey returns a form of a host that is equal for all spellings.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return plainAddress(ip).String()
	}
	return host
}

// check returns an error if a connection to an address of a host is not allowed.
func (a *addresses) check(host string, ip netip.Addr) error {
	ip = plainAddress(ip)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch kind := kindOf(ip); {
	case kind == public, a.named[ip.String()]:
	case kind == local:
		return &AddressError{Host: host, Address: ip, IsLocal: true}
	case a.named[hostKey(name)]:
		note(&a.found, ip)
	case !a.found[ip]:
		return &AddressError{Host: host, Address: ip}
	}
	return nil
}

// checkNumber is check for the host of a URL if it is a number, or this machine. A proxy would connect to it.
func (a *addresses) checkNumber(u *url.URL) error {
	name := u.Hostname()
	if ip, err := netip.ParseAddr(name); err == nil {
		return a.check(u.Host, ip)
	}
	key := hostKey(name)
	last := key[strings.LastIndexByte(key, '.')+1:]
	isNumber := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	if !isNumber && last != "localhost" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.named[key] || last == "localhost" && slices.ContainsFunc(loopbacks, func(ip netip.Addr) bool { return a.found[ip] || a.named[ip.String()] }) {
		return nil
	}
	return &AddressError{Host: u.Host}
}

var loopbacks = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}

// The kinds of addresses.
type addressKind int

const (
	public addressKind = iota
	private
	local // link-local and metadata services, which give a machine its credentials
)

// metadata are the addresses of metadata services that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
}

// special lists networks that the internet does not reach, from IANA's registries of special-purpose addresses. netip knows
// the others.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),     // this host
	netip.MustParsePrefix("100.64.0.0/10"), // shared by the customers of a provider
	netip.MustParsePrefix("192.0.0.0/24"),  // protocols
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved, broadcast
	netip.MustParsePrefix("fec0::/10"),     // site-local
}

// embedding are the networks whose addresses end with an IPv4 address to which gateways forward.
var embedding = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64
	netip.MustParsePrefix("::/96"),        // IPv4-compatible
}

// plainAddress removes the zone of an address. If an IPv6 address stands for an IPv4 address, it returns that.
func plainAddress(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("").Unmap()
	if ip.Is4() || ip == netip.IPv6Loopback() || ip.IsUnspecified() {
		return ip
	}
	b := ip.As16()
	if b[0] == 0x20 && b[1] == 0x02 { // 6to4
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	if slices.ContainsFunc(embedding, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

func kindOf(ip netip.Addr) addressKind {
	switch {
	case ip.IsLinkLocalUnicast(), ip.IsLinkLocalMulticast(), slices.Contains(metadata, ip):
		return local
	case ip.IsPrivate(), ip.IsLoopback(), ip.IsUnspecified(), ip.IsMulticast(), slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return private
	}
	return public
}

// dial connects to host:port if its address is allowed, or if it is a proxy of the user.
func (a *addresses) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if !a.isProxy(address) {
		dialer.Control = func(_, at string, _ syscall.RawConn) error {
			ip, err := netip.ParseAddrPort(at)
			if err != nil {
				return fmt.Errorf("%s: %w: %w", at, ErrForbidden, err)
			}
			return a.check(address, ip.Addr())
		}
	}
	return dialer.DialContext(ctx, network, address)
}

// proxy returns the proxy of a request, from the environment.
func (a *addresses) proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil && err == nil {
		a.addProxy(u)
	}
	return u, err
}

// addProxy notes the address to which the transport connects for a proxy.
func (a *addresses) addProxy(u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	note(&a.proxies, net.JoinHostPort(u.Hostname(), port))
}

func (a *addresses) isProxy(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.proxies[address]
}
