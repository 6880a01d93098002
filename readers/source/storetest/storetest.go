// Package storetest runs real object stores for tests, with their data in the test's temporary folder:
//
//	S3     versitygw, which checks signatures
//	GCS    fake-gcs-server, which needs no credentials
//	Azure  Azurite, which checks the account's key
//
// The script fixtures/stores/setup.sh downloads the programs. VARVE_STORES is their folder; if it is not set, tests that need them
// are skipped.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/readers/source/internal/azure"
	"varve/readers/source/internal/object"
	"varve/readers/source/internal/s3"
)

// Store is an object store with one bucket. The test's environment is set so that varve uses it.
type Store struct {
	Root string // "s3://bucket"

	service object.Service
	bucket  string
	// put and remove return the requests that store and remove an object.
	put, remove func(key string, content []byte) *http.Request
}

// Kinds holds the functions that start each kind of store, by the scheme of names.
var Kinds = map[string]func(t testing.TB) *Store{"s3": S3, "gs": GCS, "az": Azure}

// Put stores an object.
func (s *Store) Put(t testing.TB, key string, content []byte) {
	t.Helper()
	s.do(t, s.put(key, content))
}

// Remove removes an object.
func (s *Store) Remove(t testing.TB, key string) {
	t.Helper()
	s.do(t, s.remove(key, nil))
}

// PutFolder stores the files below a folder. A key is the prefix followed by the path in the folder.
func (s *Store) PutFolder(t testing.TB, prefix, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		s.Put(t, prefix+filepath.ToSlash(below), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Store) do(t testing.TB, req *http.Request) {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	if s.service != nil {
		client.Transport = s.service.Transport(s.bucket, http.DefaultTransport)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s: %s", req.Method, req.URL, resp.Status, body)
	}
}

// request returns a request to the address of an object.
func (s *Store) request(method, key string, content []byte) *http.Request {
	u, err := s.service.Address(s.bucket, key)
	if err != nil {
		panic(err)
	}
	return request(method, u.String(), content)
}

func request(method, at string, content []byte) *http.Request {
	req, err := http.NewRequest(method, at, bytes.NewReader(content))
	if err != nil {
		panic(err)
	}
	if len(content) > 0 {
		req.Header.Set("Content-Length", fmt.Sprint(len(content))) // signatures include it
	}
	return req
}

// The credentials of the store for S3.
const (
	AccessKey = "AKIDVARVETEST"
	SecretKey = "a secret/of+varve's tests"
)

// S3 runs a store with the protocol of Amazon S3.
func S3(t testing.TB) *Store {
	at := port(t)
	dir := t.TempDir()
	for _, name := range []string{"data", "meta"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, at, "bin/versitygw", "--access", AccessKey, "--secret", SecretKey, "--region", "eu-test-1", "--port", at, "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "data"))
	Setenv(t, map[string]string{
		"AWS_ENDPOINT_URL_S3": "http://" + at, "AWS_REGION": "eu-test-1", "AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey,
	})
	service, err := s3.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Root: "s3://bucket", service: service, bucket: "bucket"}
	s.put = func(key string, content []byte) *http.Request { return s.request(http.MethodPut, key, content) }
	s.remove = func(key string, _ []byte) *http.Request { return s.request(http.MethodDelete, key, nil) }
	s.do(t, request(http.MethodPut, "http://"+at+"/bucket", nil))
	return s
}

// GCS runs an emulator of Google Cloud Storage.
func GCS(t testing.TB) *Store {
	at := port(t)
	host, number, _ := net.SplitHostPort(at)
	run(t, at, "bin/fake-gcs-server", "-scheme", "http", "-host", host, "-port", number, "-public-host", at, "-backend", "memory", "-log-level", "error")
	Setenv(t, map[string]string{"STORAGE_EMULATOR_HOST": at})
	s := &Store{Root: "gs://bucket", bucket: "bucket"}
	base := "http://" + at
	s.put = func(key string, content []byte) *http.Request {
		return request(http.MethodPost, base+"/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(key), content)
	}
	s.remove = func(key string, _ []byte) *http.Request {
		return request(http.MethodDelete, base+"/storage/v1/b/bucket/o/"+url.PathEscape(key), nil)
	}
	make := request(http.MethodPost, base+"/storage/v1/b?project=test", []byte(`{"name": "bucket"}`))
	make.Header.Set("Content-Type", "application/json")
	s.do(t, make)
	return s
}

// Azure runs Microsoft's emulator of Azure Blob Storage.
func Azure(t testing.TB) *Store {
	at := port(t)
	host, number, _ := net.SplitHostPort(at)
	run(t, at, "node_modules/.bin/azurite-blob", "--blobHost", host, "--blobPort", number, "--location", t.TempDir(), "--silent", "--skipApiVersionCheck", "--disableTelemetry")
	Setenv(t, map[string]string{
		"AZURE_STORAGE_ACCOUNT":          "devstoreaccount1",
		"AZURE_STORAGE_KEY":              azure.EmulatorKey,
		"AZURE_STORAGE_SERVICE_ENDPOINT": "http://" + at + "/devstoreaccount1",
	})
	service, err := azure.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Root: "az://bucket", service: service, bucket: "bucket"}
	s.put = func(key string, content []byte) *http.Request {
		req := s.request(http.MethodPut, key, content)
		req.Header.Set("X-Ms-Blob-Type", "BlockBlob")
		return req
	}
	s.remove = func(key string, _ []byte) *http.Request { return s.request(http.MethodDelete, key, nil) }
	s.do(t, request(http.MethodPut, "http://"+at+"/devstoreaccount1/bucket?restype=container", nil))
	return s
}

// Setenv sets the variables in env for a test, and clears all other variables that configure object stores.
func Setenv(t testing.TB, env map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"AWS_", "AZURE_", "GOOGLE_", "GS_", "STORAGE_EMULATOR_HOST", "CLOUDSDK_"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // restores the value at the end of the test
			}
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// port returns an unused local address.
func port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a server, which is killed at the end of the test, and waits until it accepts connections.
func run(t testing.TB, at, program string, args ...string) {
	t.Helper()
	path := filepath.Join(os.Getenv("VARVE_STORES"), program)
	if os.Getenv("VARVE_STORES") == "" {
		t.Skipf("VARVE_STORES is not set; set it to the folder of %s, which fixtures/stores/setup.sh creates", program)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s does not exist; run fixtures/stores/setup.sh, which prints the reason if it cannot install it", path)
	}
	var output bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	const patience = 2 * time.Minute
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s: %v\n%s", program, err, output.Bytes())
		default:
		}
		if time.Since(start) > patience {
			t.Fatalf("%s does not listen at %s: %v", program, at, err)
		}
	}
}
