package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is a program that runs until it is killed.
type process struct {
	*exec.Cmd
	once sync.Once
}

// end kills the program, as a power cut does.
func (p *process) end() {
	p.once.Do(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
}

// start runs a program whose errors go to a log, and returns what it prints.
func (s *scene) start(ctx context.Context, log, program string, args ...string) (*process, io.Reader, error) {
	complaints, err := os.OpenFile(filepath.Join(s.folder, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer complaints.Close() //nolint:errcheck // the program has its own
	run := exec.CommandContext(ctx, program, args...)
	run.Env, run.Stderr = append(os.Environ(), "GOVSVC_DB="+s.db), complaints
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	return &process{Cmd: run}, out, err
}

// serve starts the server and returns its address.
func (s *scene) serve(ctx context.Context) (string, *process, error) {
	p, out, err := s.start(ctx, "govsvc.log", s.govsvc, "serve", "--addr", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		p.end()
		return "", nil, fmt.Errorf("govsvc serve printed %q, %v", line, err)
	}
	return url, p, nil
}

// replicate starts Litestream and waits until it has synced once.
func (s *scene) replicate(ctx context.Context) (*process, error) {
	_ = os.Remove(s.folder + "/socket") // a killed one leaves it
	p, out, err := s.start(ctx, "litestream.log", s.litestream, "replicate", "-config", s.folder+"/litestream.yml")
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends as the program does
	for range 100 {
		if err = pause(ctx, 100*time.Millisecond); err != nil {
			break
		}
		if _, err = s.litestreamed(ctx, "sync", "-wait", "-socket", s.folder+"/socket", s.db); err == nil {
			return p, nil
		}
	}
	p.end()
	return nil, fmt.Errorf("Litestream does not come up: %w", err)
}

// load is several connections that write without a pause.
type load struct {
	url, key, name string

	cancel context.CancelFunc
	done   sync.WaitGroup
	still  sync.RWMutex // who writes holds it for reading
	mutex  sync.Mutex
	titles []string // of the risks whose writing was acknowledged
}

const connections = 4

func startLoad(ctx context.Context, url, key, name string) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{url: url, key: key, name: name, cancel: cancel}
	for c := range connections {
		l.done.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := 0; ctx.Err() == nil; i++ {
				l.still.RLock()
				err := l.write(ctx, client, fmt.Sprintf("connection %d, risk %d", c, i))
				l.still.RUnlock()
				if err != nil && !errors.Is(err, errRefused) {
					return // the server is gone
				}
			}
		})
	}
	return l
}

// write writes a risk; nil means that it was acknowledged.
func (l *load) write(ctx context.Context, client *http.Client, title string) error {
	title = l.name + ", " + title
	if err := post(ctx, client, l.url, l.key, title); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.titles = append(l.titles, title)
	return nil
}

// one tries to write one more risk while the others pause.
func (l *load) one(ctx context.Context) error {
	err := l.write(ctx, http.DefaultClient, fmt.Sprint("alone, after ", len(l.acknowledged())))
	if errors.Is(err, errRefused) {
		return nil
	}
	return err
}

// errRefused is an answer that acknowledges nothing: that the file is busy, say.
var errRefused = errors.New("the server refused a risk")

// post writes a risk over HTTP.
func post(ctx context.Context, client *http.Client, url, key, title string) error {
	body := fmt.Sprintf(`{"title":%q,"description":"The scoring model drifts, and nobody is told in time.","severity":"HIGH","likelihood":"RARE"}`, title)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/risks", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", title)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err == nil && response.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%w: %s %s", errRefused, response.Status, answer)
	}
	return err
}

// pause waits until nobody writes, and has nobody write until resume.
func (l *load) pause()  { l.still.Lock() }
func (l *load) resume() { l.still.Unlock() }

// acknowledged are the writes that were acknowledged so far.
func (l *load) acknowledged() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.titles)
}

// stop ends the writing and returns what was acknowledged.
func (l *load) stop() []string {
	l.cancel()
	l.done.Wait()
	return l.acknowledged()
}
