package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"varve/readers/source"
)

// maxEnvelopes is how many messages may contain one another.
const maxEnvelopes = 4

// Events returns the names of the files that a message is about. A message is a notification of S3 or a server like it,
// also as SNS, SQS or EventBridge pass it on; a notification of Google Cloud Storage; or the plain name of a file. Messages
// about other things, such as tests, have no names.
//
//	{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"a+b.nc"}}}]}
//	{"detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{"key":"a b.nc"}}}
//	{"message":{"attributes":{"bucketId":"b","objectId":"a b.nc"}}}
//	/archive/2024/a.nc
func Events(message []byte) (names []string, err error) {
	text := strings.TrimSpace(string(message))
	switch {
	case text == "":
		return nil, nil
	case !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "["):
		if !source.IsURL(text) {
			if text, err = filepath.Abs(text); err != nil {
				return nil, err
			}
			text = filepath.ToSlash(text)
		}
		return []string{text}, nil
	}
	return events([]byte(text), 0)
}

// notices are the members of a message that name a file.
type notices struct {
	s3, detail s3Object
	attributes struct {
		Bucket string `json:"bucketId"`
		Object string `json:"objectId"`
	}
}

type s3Object struct {
	Bucket struct {
		Name string `json:"name"`
	} `json:"bucket"`
	Object struct {
		Key string `json:"key"`
	} `json:"object"`
}

func events(message []byte, depth int) (names []string, err error) {
	if depth > maxEnvelopes {
		return nil, fmt.Errorf("event: more than %d messages contain one another", maxEnvelopes)
	}
	var list []json.RawMessage
	if message[0] == '[' {
		err = json.Unmarshal(message, &list)
	} else {
		list, names, err = opened(message)
	}
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	for _, inner := range list {
		more, err := events(inner, depth+1)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// opened returns the messages in a message, and the names in it.
func opened(message []byte) (inner []json.RawMessage, names []string, err error) {
	// encoding/json ignores the case of names, so Message and message are looked up by their exact names.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(message, &members); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"Records", "Messages"} {
		var list []json.RawMessage
		if raw, ok := members[name]; ok {
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		inner = append(inner, list...)
	}
	for _, name := range []string{"Message", "Body", "body", "message"} {
		raw, ok := members[name]
		if !ok {
			continue
		}
		var text string
		switch {
		case len(raw) > 0 && raw[0] == '{':
			inner = append(inner, raw)
		case json.Unmarshal(raw, &text) != nil:
			return nil, nil, fmt.Errorf("%s: %w", name, errNoMessage)
		case strings.HasPrefix(strings.TrimSpace(text), "{"):
			inner = append(inner, json.RawMessage(strings.TrimSpace(text)))
		}
	}
	var e notices
	for name, to := range map[string]any{"s3": &e.s3, "detail": &e.detail, "attributes": &e.attributes} {
		if raw, ok := members[name]; ok && len(raw) > 0 && raw[0] == '{' {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if o := e.s3; o.Bucket.Name != "" && o.Object.Key != "" {
		key, err := url.QueryUnescape(o.Object.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("key %.80q: %w", o.Object.Key, err)
		}
		names = append(names, "s3://"+o.Bucket.Name+"/"+key)
	}
	if o := e.detail; o.Bucket.Name != "" && o.Object.Key != "" {
		names = append(names, "s3://"+o.Bucket.Name+"/"+o.Object.Key)
	}
	if a := e.attributes; a.Bucket != "" && a.Object != "" {
		names = append(names, "gs://"+a.Bucket+"/"+a.Object)
	}
	return inner, names, nil
}

var errNoMessage = errors.New("want a message in JSON, as an object or a text")
