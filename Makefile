# Short names for the commands that CONTRIBUTING.md describes.
.PHONY: build test browser format lint gate

build: # ./govsvc
	go build .

test: # all tests
	go test ./...

browser: # the dashboard in Chromium
	go test -tags browser -run Browser ./web

format: # rewrite the code as the gate wants it
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 fmt

lint: # the steps format, vet and lint of the gate
	bash .ci/run format vet lint

gate: # every check, as CI runs it
	bash .ci/run
