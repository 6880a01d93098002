package source

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
)

// TestAddresses checks whether an Opener connects to an address of a host.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		host, ip string
		isOK     bool
		isLocal  bool
	}{
		{host: "data.org:80", ip: "93.184.216.34", isOK: true},
		{host: "data.org:80", ip: "2606:2800::1", isOK: true},
		{host: "data.org:80", ip: "127.0.0.1"},
		{host: "data.org:80", ip: "10.0.0.1"},
		{host: "data.org:80", ip: "0.0.0.0"},
		{host: "data.org:80", ip: "100.64.0.1"},
		{host: "data.org:80", ip: "::1"},
		{host: "data.org:80", ip: "::ffff:10.0.0.1"},
		{host: "data.org:80", ip: "64:ff9b::a00:1"},
		{host: "data.org:80", ip: "2002:a00:1::1"},
		{host: "data.org:80", ip: "fd00::1"},
		{host: "data.org:80", ip: "169.254.169.254", isLocal: true},
		{host: "data.org:80", ip: "fe80::1%eth0", isLocal: true},
		{host: "data.org:80", ip: "100.100.100.200", isLocal: true},
		{host: "data.org:80", ip: "fd00:ec2::254", isLocal: true},
		{host: "data.org:80", ip: "64:ff9b::a9fe:a9fe", isLocal: true},
		{host: "intranet:8080", ip: "192.168.0.7", isOK: true},
		{host: "INTRANET.:8080", ip: "192.168.0.7", isOK: true},
		{host: "other.org:80", ip: "192.168.0.7", isOK: true}, // the same address as intranet
		{host: "other.org:80", ip: "192.168.0.8"},
		{host: "intranet:8080", ip: "169.254.169.254", isLocal: true},
		{host: "169.254.1.1:80", ip: "169.254.1.1", isOK: true},
		{host: "[fe80::7%eth0]:80", ip: "fe80::7%eth0", isOK: true},
		{host: "10.9.9.9:80", ip: "10.9.9.9", isOK: true},
		{host: "catalogue.org:80", ip: "10.0.0.1"},
		{host: "named.org:80", ip: "10.0.0.1", isOK: true},
	} {
		o := NewOpener(nil)
		a := &o.addresses
		o.AllowPrivate("http://intranet/x", "http://169.254.1.1/", "http://[fe80::7]/", "https://10.9.9.9/", "folder/", "http://named.org/")
		o.ForbidPrivate("http://catalogue.org/x.nc", "http://named.org/x.nc")
		a.opened("catalogue.org")
		if err := a.check("intranet:80", netip.MustParseAddr("192.168.0.7")); err != nil {
			t.Fatal(err)
		}
		err := a.check(c.host, netip.MustParseAddr(c.ip))
		var refused *AddressError
		if (err == nil) != c.isOK || err != nil && (!errors.Is(err, ErrForbidden) || !errors.As(err, &refused) || refused.IsLocal != c.isLocal) {
			t.Errorf("%s at %s: got %v", c.host, c.ip, err)
		}
	}
}

// TestNumbers checks the hosts that are refused without a connection, because a proxy would connect to them.
func TestNumbers(t *testing.T) {
	for name, isOK := range map[string]bool{
		"http://data.org/": true, "http://1.2.3.4.org/": true, "http://93.184.216.34/": true, "http://10.0.0.1/": false, "http://[::1]/": false,
		"http://127.1/": false, "http://2130706433/": false, "http://0x7f.0.0.1/": false, "http://0x7f000001/": false, "http://localhost/": false,
		"http://x.localhost/": false, "http://10.0.0.2/": true, "http://169.254.169.254/": false,
	} {
		o := NewOpener(nil)
		o.AllowPrivate("http://10.0.0.2/")
		u, err := url.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.addresses.checkNumber(u); (err == nil) != isOK || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAddressPlace checks which URL an error tells to allow.
func TestAddressPlace(t *testing.T) {
	ip := netip.MustParseAddr("fe80::1")
	for _, c := range []struct {
		err  AddressError
		want string
	}{
		{AddressError{Host: "x:80"}, "http://x/"}, {AddressError{Host: "x:443"}, "https://x/"}, {AddressError{Host: "x:81"}, "http://x:81/"},
		{AddressError{Host: "x"}, "http://x/"}, {AddressError{Host: "[::1]:81"}, "http://[::1]:81/"}, {AddressError{Host: "[::1]"}, "http://[::1]/"},
		{AddressError{Host: "x:80", Address: ip, IsLocal: true}, "http://[fe80::1]/"},
	} {
		if got := c.err.Place(); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.err, got, c.want)
		}
	}
}

// TestRedirectToPrivate checks that a redirect to another private address is followed only if the user named it, and that
// a proxy is not asked for it.
func TestRedirectToPrivate(t *testing.T) {
	var requests atomic.Int64
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte("secret"))
	}))
	inside.Listener = listenOn(t, "127.0.0.2:0")
	inside.Start()
	defer inside.Close()
	for _, direct := range []bool{true, false} {
		outside := httptest.NewServer(http.RedirectHandler(inside.URL+"/x", http.StatusFound))
		defer outside.Close()
		for _, named := range []bool{false, true} {
			requests.Store(0)
			o := NewOpener(nil)
			if named {
				o.AllowPrivate(inside.URL)
			}
			name := inside.URL + "/x"
			if direct {
				name = outside.URL + "/x"
			} else if !named {
				o.ForbidPrivate(name)
			}
			src, err := o.Open(context.Background(), name)
			if err == nil {
				err = src.Close()
			}
			var refused *AddressError
			if named && (err != nil || requests.Load() == 0) || !named && (!errors.As(err, &refused) || requests.Load() > 0) {
				t.Errorf("redirect %v, named %v: got %v, %d requests", direct, named, err, requests.Load())
			}
		}
	}
}

func listenOn(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this system has no address %s: %v", address, err)
	}
	return l
}

// TestProxy checks that a proxy of the user may have a private address, and that numbers are refused before it is asked.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		http.Redirect(w, r, "http://10.0.0.1/x", http.StatusFound)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOpener(nil)
	o.own.Proxy = func(*http.Request) (*url.URL, error) {
		o.addresses.addProxy(at)
		return at, nil
	}
	_, err = o.Open(context.Background(), "http://data.org/x")
	var refused *AddressError
	if !errors.As(err, &refused) || refused.Host != "10.0.0.1" || !slices.Equal(asked, []string{"http://data.org/x"}) {
		t.Errorf("got %v, the proxy was asked for %q", err, asked)
	}
}
