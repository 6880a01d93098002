package azure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"varve/readers/source/internal/object"
)

// The endpoint and the key of every emulator. They are public, in Microsoft's documentation.
const (
	emulator    = "http://127.0.0.1:10000/devstoreaccount1"
	EmulatorKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// isAccount reports whether name is a valid name of an account. It becomes a part of a host name.
func isAccount(name string) bool {
	return len(name) >= 3 && len(name) <= 24 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// configured returns the Service for the settings in the environment: a connection string, which has all of them, or
// separate variables.
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
		s.anonymous = "the request was not signed, because AZURE_NO_SIGN_REQUEST is set"
	}
	return s, s.apply(set)
}

// connection parses a connection string such as "AccountName=a;AccountKey=k;EndpointSuffix=core.windows.net".
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
		return errors.New("AZURE_STORAGE_ACCOUNT is not set; set it to the account of the container, which az://container/blob does not contain")
	case s.endpoint == nil && !isAccount(s.account):
		return fmt.Errorf("AZURE_STORAGE_ACCOUNT is %q, must be 3 to 24 lower-case letters and digits", s.account)
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
			err = errors.New("AZURE_STORAGE_SAS_TOKEN: must be a query like sv=…&sig=…") // without the value, which is a secret
		}
	}
	return err
}
