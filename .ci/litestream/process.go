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

// end kills the program without giving it time to shut down.
func (p *process) end() {
	p.once.Do(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
}

// start runs a program with standard error in a log file, and returns its standard
// output.
func (h *harness) start(ctx context.Context, log, program string, args ...string) (*process, io.Reader, error) {
	stderr, err := os.OpenFile(filepath.Join(h.folder, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer stderr.Close() //nolint:errcheck // the program has a descriptor of the file
	run := exec.CommandContext(ctx, program, args...)
	run.Env, run.Stderr = append(os.Environ(), "GOVSVC_DB="+h.db), stderr
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	return &process{Cmd: run}, out, err
}

// serve starts the server and returns its address.
func (h *harness) serve(ctx context.Context) (string, *process, error) {
	p, out, err := h.start(ctx, "govsvc.log", h.govsvc, "serve", "--addr", "127.0.0.1:0")
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

// replicate starts Litestream and waits for its first sync.
func (h *harness) replicate(ctx context.Context) (*process, error) {
	_ = os.Remove(h.folder + "/socket") // left by a killed process
	p, out, err := h.start(ctx, "litestream.log", h.litestream, "replicate", "-config", h.folder+"/litestream.yml")
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends with the program
	for range 100 {
		if err = pause(ctx, 100*time.Millisecond); err != nil {
			break
		}
		if _, err = h.runLitestream(ctx, "sync", "-wait", "-socket", h.folder+"/socket", h.db); err == nil {
			return p, nil
		}
	}
	p.end()
	return nil, fmt.Errorf("start of Litestream: %w", err)
}

// load writes on several connections at once.
type load struct {
	url, key, name string

	cancel context.CancelFunc
	done   sync.WaitGroup
	paused sync.RWMutex // held for reading during a write
	mutex  sync.Mutex
	titles []string // of the acknowledged risks
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
				l.paused.RLock()
				err := l.write(ctx, client, fmt.Sprintf("connection %d, risk %d", c, i))
				l.paused.RUnlock()
				if err != nil && !errors.Is(err, errRefused) {
					return // the server has ended
				}
			}
		})
	}
	return l
}

// write writes a risk. It returns nil if the write was acknowledged.
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

// writeOne writes one more risk while the connections pause.
func (l *load) writeOne(ctx context.Context) error {
	err := l.write(ctx, http.DefaultClient, fmt.Sprint("single, after ", len(l.acknowledged())))
	if errors.Is(err, errRefused) {
		return nil
	}
	return err
}

// errRefused reports a response other than 201, for example because the file is busy.
var errRefused = errors.New("the server refused a risk")

// post writes a risk over HTTP.
func post(ctx context.Context, client *http.Client, url, key, title string) error {
	body := fmt.Sprintf(`{"title":%q,"description":"The scoring model drifts, and the owner is informed too late.","severity":"HIGH","likelihood":"RARE"}`, title)
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
	reply, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err == nil && response.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%w: %s %s", errRefused, response.Status, reply)
	}
	return err
}

// pause waits for running writes to end, and blocks new ones until resume is called.
func (l *load) pause()  { l.paused.Lock() }
func (l *load) resume() { l.paused.Unlock() }

// acknowledged returns the titles of the acknowledged writes so far.
func (l *load) acknowledged() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.titles)
}

// stop ends the load and returns the titles of the acknowledged writes.
func (l *load) stop() []string {
	l.cancel()
	l.done.Wait()
	return l.acknowledged()
}
