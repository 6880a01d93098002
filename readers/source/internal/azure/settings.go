package azure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"varve/readers/source/internal/object"
)

// The account and key that every emulator has, as Microsoft's documentation says. EmulatorKey is
// a secret to nobody.
const (
	emulator    = "http://127.0.0.1:10000/devstoreaccount1"
	EmulatorKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// isAccount tells names of accounts, which become names of servers.
func isAccount(name string) bool {
	return len(name) >= 3 && len(name) <= 24 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// configured reads the settings: a connection string has all of them, else each is by itself.
func configured(getenv func(string) string) (*Service, error) {
	s := &Service{now: time.Now}
	set := map[string]string{
		"AccountName":           object.First(getenv, "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
		"AccountKey":            object.First(getenv, "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
		"SharedAccessSignature": object.First(getenv, "AZURE_STORAGE_SAS_TOKEN"),
		"BlobEndpoint":          object.First(getenv, "AZURE_STORAGE_SERVICE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"),
	}
	if text := getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" {
		set = connection(text)
	}
	if object.IsSet(getenv("AZURE_NO_SIGN_REQUEST")) {
		set["AccountKey"], set["SharedAccessSignature"] = "", ""
		s.anonymous = "AZURE_NO_SIGN_REQUEST is set, so nothing is signed"
	}
	return s, s.apply(set)
}

// connection reads a connection string: "AccountName=a;AccountKey=k;EndpointSuffix=core.windows.net".
func connection(text string) map[string]string {
	set := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		set[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if strings.EqualFold(set["UseDevelopmentStorage"], "true") {
		set["AccountName"], set["AccountKey"], set["BlobEndpoint"] = "devstoreaccount1", EmulatorKey, emulator
	}
	return set
}

func (s *Service) apply(set map[string]string) (err error) {
	s.account = set["AccountName"]
	if endpoint := set["BlobEndpoint"]; endpoint != "" {
		if s.endpoint, err = object.Endpoint("the endpoint of blobs", endpoint); err != nil {
			return err
		}
		if s.account == "" {
			s.account, _, _ = strings.Cut(s.endpoint.Host, ".")
		}
	}
	switch {
	case s.account == "":
		return errors.New("AZURE_STORAGE_ACCOUNT is not set: az://container/blob needs the account that the container is in")
	case s.endpoint == nil && !isAccount(s.account):
		return fmt.Errorf("AZURE_STORAGE_ACCOUNT: %q is not the name of an account", s.account)
	case s.endpoint == nil:
		suffix := set["EndpointSuffix"]
		if suffix == "" {
			suffix = "core.windows.net"
		}
		if s.endpoint, err = object.Endpoint("EndpointSuffix", "https://"+s.account+".blob."+suffix); err != nil {
			return err
		}
	}
	if key := set["AccountKey"]; key != "" {
		s.key, err = decodeKey("AZURE_STORAGE_KEY", key)
	} else if sas := set["SharedAccessSignature"]; sas != "" {
		if s.sas, err = url.ParseQuery(strings.TrimPrefix(sas, "?")); err != nil || s.sas.Get("sig") == "" {
			err = errors.New("AZURE_STORAGE_SAS_TOKEN: want a query like sv=…&sig=…") // and not what it is
		}
	}
	return err
}
