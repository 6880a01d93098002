package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"varve/readers/source/internal/s3"
)

// maxCredentialsBytes limits the size of an answer with credentials.
const maxCredentialsBytes = 64 << 10

// temporaryCredentials returns a function that gets temporary credentials from a server, as NASA's archives give them:
//
//	{"accessKeyId":"ASIA…", "secretAccessKey":"…", "sessionToken":"…", "expiration":"2026-11-26 22:12:57+00:00"}
//
// The request has the credentials that the access file has for the server.
func (o *Opener) temporaryCredentials(name string) func(context.Context) (*s3.Temporary, error) {
	return func(ctx context.Context) (*s3.Temporary, error) {
		u, err := url.Parse(name)
		if err != nil {
			return nil, errors.New("not a URL")
		}
		r := newRemote(o, u)
		r.host = newHostLimit() // the requests that wait for these credentials may be all that the host's limit allows
		if err := o.authorized(r); err != nil {
			return nil, err
		}
		defer r.shut()
		var body []byte
		err = r.persist(ctx, 0, func(ctx context.Context) error {
			return r.ask(ctx, nil, func(a *answer) (err error) {
				body, err = a.document(maxCredentialsBytes)
				return err
			})
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		found, err := parseTemporary(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		return found, nil
	}
}

// parseTemporary parses an answer with credentials. Errors do not quote it.
func parseTemporary(body []byte) (*s3.Temporary, error) {
	var doc struct {
		AccessKeyID     string `json:"accessKeyId"`
		SecretAccessKey string `json:"secretAccessKey"`
		SessionToken    string `json:"sessionToken"`
		Expiration      string `json:"expiration"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return nil, errors.New("the answer is no JSON object with credentials")
	}
	if doc.AccessKeyID == "" || doc.SecretAccessKey == "" {
		return nil, errors.New("the answer has no accessKeyId and secretAccessKey")
	}
	out := &s3.Temporary{AccessKeyID: doc.AccessKeyID, SecretAccessKey: doc.SecretAccessKey, SessionToken: doc.SessionToken}
	if doc.Expiration == "" {
		return out, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05Z07:00", time.RFC3339} {
		if t, err := time.Parse(layout, doc.Expiration); err == nil {
			out.Expires = t
			return out, nil
		}
	}
	return nil, errors.New("the expiration in the answer is no time like 2026-11-26 22:12:57+00:00")
}
