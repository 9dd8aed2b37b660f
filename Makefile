# gvswitch. Each target is a command or two that a person could type.

VERSION ?= 0.1.0
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
PREFIX  ?= /usr/local
DESTDIR ?=

VPKG    := github.com/gvswitch/gvswitch/internal/version
LDFLAGS := -s -w -X $(VPKG).version=$(VERSION) -X $(VPKG).commit=$(COMMIT)
# -buildvcs=false: the commit is in LDFLAGS, and the tree need not be git's.
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

bindir     := $(DESTDIR)$(PREFIX)/bin
sbindir    := $(DESTDIR)$(PREFIX)/sbin
mandir     := $(DESTDIR)$(PREFIX)/share/man
compdir    := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
systemddir := $(DESTDIR)$(PREFIX)/lib/systemd/system

.PHONY: build
build: ## bin/gvswitchd, bin/gvsctl and bin/gvsgen, static
	$(GOBUILD) -o bin/ ./cmd/...

.PHONY: install
install: build ## binaries, unit, man pages, completion below DESTDIR/PREFIX
	install -d $(bindir) $(sbindir) $(compdir) $(systemddir) $(mandir)/man8
	install -m 755 bin/gvsctl bin/gvsgen $(bindir)/
	install -m 755 bin/gvswitchd $(sbindir)/
	sed 's|/usr/local/sbin/|$(PREFIX)/sbin/|' systemd/gvswitchd.service > $(systemddir)/gvswitchd.service
	env -u GVSWITCH_RUNDIR bin/gvsctl man > $(mandir)/man8/gvsctl.8
	env -u GVSWITCH_RUNDIR bin/gvswitchd man > $(mandir)/man8/gvswitchd.8
	bin/gvsgen man > $(mandir)/man8/gvsgen.8
	bin/gvsctl completion bash > $(compdir)/gvsctl

.PHONY: deps
deps: ## Debian packages and hugepages that the tests need
	test/deps.sh test

.PHONY: test
test: deps ## everything that a change must pass; 15 minutes
	test/all.sh

.PHONY: soak
soak: deps ## the full combinations and the long loops; hours
	GVSWITCH_SOAK=1 test/all.sh

.PHONY: lint
lint: ## floors, format, staticcheck, golangci-lint
	go test -count=1 ./internal/lint

.PHONY: fmt
fmt: ## format the source
	go tool -modfile=tools/go.mod gofumpt -w .

.PHONY: bench
bench: ## gvswitch and OVS-DPDK in turn; writes docs/performance.md
	test/deps.sh bench
	go run ./bench -out docs/performance.md

.PHONY: demo
demo: ## two guests, a namespace, a tap and the host on one bridge
	test/deps.sh demo
	demo/demo.sh

.PHONY: clean
clean:
	rm -rf bin

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10
