// Package s3 reads and writes Amazon S3, and servers with its protocol: MinIO, Ceph, Garage, SeaweedFS, Cloudflare R2, and
// others.
//
//	GET /model/x.nc                       Authorization: AWS4-HMAC-SHA256 Credential=…/s3/aws4_request, …
//	Host: bucket.s3.eu-west-1.amazonaws.com
//	Range: bytes=0-262143                 X-Amz-Content-Sha256: UNSIGNED-PAYLOAD
//
// Requests are signed with AWS Signature Version 4 ("Authenticating Requests" in the API reference). A bucket answers only in
// its region. An answer from another region contains the right one, which is used from then on.
//
// The configuration is read from the same places as by Amazon's tools: the environment and the files in ~/.aws. Other settings
// have the names of GDAL's settings.
package s3

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"

	"varve/readers/source/internal/object"
)

const defaultRegion = "us-east-1"

// Service is Amazon S3 or a server like it.
type Service struct {
	region   string
	endpoint *url.URL // nil: Amazon's
	virtual  bool     // with endpoint: the bucket is a part of the host name
	pays     bool     // the reader pays for requests
	now      func() time.Time
	signer   *v4.Signer
	keys     keys
	origin   string   // where the settings are from, if they are not from the environment
	regions  sync.Map // by bucket: its region, if it is not region
}

// Settings are settings of a bucket. The environment and ~/.aws have the others.
type Settings struct {
	Origin          string // where they are from, for messages
	Profile, Region string
	Endpoint        *url.URL
	RequesterPays   bool
	Anonymous       bool
	// Renew, if set, gets temporary credentials. It is called again before they expire.
	Renew func(context.Context) (*Temporary, error)
}

// Temporary are temporary credentials.
type Temporary struct {
	AccessKeyID, SecretAccessKey, SessionToken string
	Expires                                    time.Time // the zero time if they do not expire
}

// New returns the Service for some settings, which may be nil. It makes no requests.
func New(ctx context.Context, set *Settings) (*Service, error) {
	if set == nil {
		set = &Settings{}
	}
	cfg, err := config.LoadDefaultConfig(ctx, set.options()...)
	if err != nil {
		return nil, fmt.Errorf("configuration for Amazon S3: %w", err)
	}
	s := newService(set.provider(cfg.Credentials))
	s.origin = set.Origin
	if cfg.Region != "" {
		s.region = cfg.Region
	}
	if !isRegion(s.region) {
		return nil, fmt.Errorf("configuration for Amazon S3: %q is not a valid name of a region", s.region)
	}
	s.virtual = object.IsSet(os.Getenv("AWS_VIRTUAL_HOSTING"))
	s.pays = set.RequesterPays || strings.EqualFold(os.Getenv("AWS_REQUEST_PAYER"), "requester")
	switch {
	case set.Anonymous:
		s.keys.anonymous = "the request was not signed, because of anonymous in " + set.Origin
	case set.Profile == "" && set.Renew == nil && object.IsSet(os.Getenv("AWS_NO_SIGN_REQUEST")):
		s.keys.anonymous = "the request was not signed, because AWS_NO_SIGN_REQUEST is set"
	}
	if s.endpoint = set.Endpoint; s.endpoint == nil {
		s.endpoint, err = endpointOf(ctx, &cfg)
	}
	return s, err
}

// options returns the options of the configuration.
func (set *Settings) options() (list []func(*config.LoadOptions) error) {
	if set.Profile != "" {
		list = append(list, config.WithSharedConfigProfile(set.Profile))
	}
	if set.Region != "" {
		list = append(list, config.WithRegion(set.Region))
	}
	return list
}

// renewBefore is the time before the expiry of temporary credentials at which new ones are requested. A signed request is
// valid as long as its credentials, and may take minutes.
const renewBefore = 5 * time.Minute

// provider returns the provider of the settings, or the given one of the environment.
func (set *Settings) provider(of aws.CredentialsProvider) aws.CredentialsProvider {
	if set.Renew == nil {
		return of
	}
	get := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		t, err := set.Renew(ctx)
		if err != nil {
			return aws.Credentials{}, err
		}
		return aws.Credentials{
			AccessKeyID: t.AccessKeyID, SecretAccessKey: t.SecretAccessKey, SessionToken: t.SessionToken,
			CanExpire: !t.Expires.IsZero(), Expires: t.Expires,
		}, nil
	})
	return aws.NewCredentialsCache(get, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewBefore })
}

// At returns the Service of a server with Amazon's protocol. It reads no configuration and signs no request.
func At(endpoint *url.URL) *Service {
	s := newService(nil)
	s.endpoint = endpoint
	return s
}

func newService(provider aws.CredentialsProvider) *Service {
	plain := func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }
	return &Service{region: defaultRegion, now: time.Now, signer: v4.NewSigner(plain), keys: keys{provider: provider}}
}

// endpointOf returns the configured endpoint, or nil for Amazon's. It may be set for S3 alone or for all services, in the
// environment or in the profile.
func endpointOf(ctx context.Context, cfg *aws.Config) (*url.URL, error) {
	if object.IsSet(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
		return nil, nil
	}
	for _, c := range cfg.ConfigSources {
		from, ok := c.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		})
		if !ok {
			continue
		}
		text, found, err := from.GetServiceBaseEndpoint(ctx, "S3")
		if err != nil {
			return nil, err
		}
		if found {
			return object.Endpoint("AWS_ENDPOINT_URL_S3, or endpoint_url of s3 in the profile", text)
		}
	}
	if cfg.BaseEndpoint == nil || *cfg.BaseEndpoint == "" {
		return nil, nil
	}
	return object.Endpoint("AWS_ENDPOINT_URL, or endpoint_url in the profile", *cfg.BaseEndpoint)
}

// isRegion reports whether name is a valid name of a region. The name may come from a server and becomes a part of a host name.
func isRegion(name string) bool {
	const most = 40
	return name != "" && len(name) <= most && isPlain(name)
}

// isHost reports whether a bucket's name can be the first label of a host name that a wildcard certificate covers.
func isHost(bucket string) bool {
	return len(bucket) >= 3 && len(bucket) <= 63 && isPlain(bucket) && bucket == strings.Trim(bucket, "-")
}

func isPlain(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// base returns the address of a bucket in a region.
func (s *Service) base(bucket, region string) *url.URL {
	u := s.endpoint
	if u == nil {
		host := "s3." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			host += ".cn"
		}
		u = &url.URL{Scheme: "https", Host: host}
	}
	if (s.endpoint == nil || s.virtual) && isHost(bucket) {
		at := *u
		at.Host = bucket + "." + u.Host
		return &at
	}
	return object.Under(u, bucket)
}

// Address returns the address of an object in the configured region. The transport replaces the region if the bucket is in
// another one.
func (s *Service) Address(bucket, key string) (*url.URL, error) {
	return object.Under(s.base(bucket, s.region), key), nil
}

// ListAddress returns the address of a page of a listing.
func (s *Service) ListAddress(q *object.Query) (*url.URL, error) {
	u := *s.base(q.Bucket, s.region)
	if u.Path == "" {
		u.Path = "/"
	}
	object.AddBucketQuery(&u, q)
	return &u, nil
}

// ParsePage reads a page of a listing.
func (s *Service) ParsePage(body []byte, q *object.Query) (*object.Page, error) {
	return object.ParseBucketResult(body, q)
}

// Hint returns advice for a request that was denied.
func (s *Service) Hint() string {
	if why := s.keys.whyAnonymous(); why != "" {
		return why
	}
	if s.origin != "" {
		return "the settings of " + s.origin + " were used"
	}
	return "AWS_NO_SIGN_REQUEST=YES reads a public bucket; AWS_REQUEST_PAYER=requester a bucket whose readers pay"
}

// keys are the credentials, if there are any.
type keys struct {
	provider aws.CredentialsProvider

	mu        sync.Mutex
	anonymous string // the reason why requests are not signed, or ""
}

func (k *keys) whyAnonymous() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.anonymous
}

// machinePatience is the time limit for asking the machine for its role. A machine outside Amazon does not answer.
const machinePatience = 3 * time.Second

// get returns the credentials, or false if requests are not signed. The last provider is the machine's role. If it fails, no
// credentials are configured.
func (k *keys) get(ctx context.Context) (aws.Credentials, bool, error) {
	if k.provider == nil || k.whyAnonymous() != "" {
		return aws.Credentials{}, false, nil
	}
	last := aws.IsCredentialsProvider(k.provider, (*ec2rolecreds.Provider)(nil))
	within := ctx
	if last {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, machinePatience)
		defer cancel()
	}
	found, err := k.provider.Retrieve(within)
	switch {
	case err == nil:
		return found, true, nil
	case ctx.Err() != nil:
		return aws.Credentials{}, false, context.Cause(ctx)
	case !last:
		return aws.Credentials{}, false, &object.CredentialsError{Service: "Amazon S3", Err: err}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.anonymous = "the request was not signed, because no credentials for Amazon S3 were found (the environment, ~/.aws, or the machine's role)"
	return aws.Credentials{}, false, nil
}
