# srpump: make help

PREFIX  ?= /usr/local
DESTDIR ?=
BIN      = bin
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo dev)
COMMANDS = sr sr_log2save sr_post sr_watch sr_poll sr_subscribe sr_sarra sr_winnow sr_shovel sr_sender sr_report sr_serve sr_audit sr_spool
TOOLS    = warc sfm_items sfm_harvest sfm_export sfm_mirror
GO      ?= go
LDFLAGS  = -s -w -X srpump/cmd/internal/cli.Version=$(VERSION)
TESTFLAGS ?= -race
export GOFLAGS += -mod=readonly

.PHONY: build demo test test-long bench fuzz install lint help clean

build: ## the multi-call binary and its links, and the other programs, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs -ldflags '$(LDFLAGS)' -o $(BIN)/srpump ./cmd/srpump
	for c in $(COMMANDS); do ln -sf srpump $(BIN)/$$c; done
	for t in $(TOOLS); do \
		CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs -ldflags '$(LDFLAGS)' -o $(BIN)/$$t ./cmd/$$t || exit 1; done

demo: build ## the main job on real files, with nothing installed; under a minute
	sh demo/run.sh $(BIN)

test: ## installs what the tests need where it is missing, and runs all tests
	sh test/setup.sh
	SRPUMP_REQUIRE=1 sh test/run.sh $(GO) test $(TESTFLAGS) -timeout 40m ./...

test-long: ## the same with the long forms of crash, chaos and bad-input tests
	sh test/setup.sh
	SRPUMP_REQUIRE=1 SRPUMP_LONG=1 sh test/run.sh $(GO) test $(TESTFLAGS) -timeout 80m ./...

bench: build ## the figures of test/bench/README.md
	sh test/setup.sh
	$(GO) run ./test/bench

fuzz: ## every fuzz target for FUZZTIME (30s) each
	sh test/fuzz.sh $(GO) $(or $(FUZZTIME),30s)

lint: ## gofmt, vet, staticcheck and the manual pages
	test -z "$$(gofmt -l cmd man partition pipeline post pump test winnow)"
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	mandoc -T lint -W warning man/*.[1-8]

install: build ## binary, links, manual pages and systemd unit below $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BIN)/srpump $(DESTDIR)$(PREFIX)/bin/srpump
	for c in $(COMMANDS); do ln -sf srpump $(DESTDIR)$(PREFIX)/bin/$$c; done
	for t in $(TOOLS); do install -m 755 $(BIN)/$$t $(DESTDIR)$(PREFIX)/bin/$$t; done
	for p in man/*.[1-8]; do s=$${p##*.}; install -d $(DESTDIR)$(PREFIX)/share/man/man$$s; \
		install -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$$s/; done
	share=$(DESTDIR)$(PREFIX)/share; for d in bash-completion/completions zsh/site-functions fish/vendor_completions.d; do install -d $$share/$$d; done; \
		$(BIN)/srpump completion zsh >$$share/zsh/site-functions/_srpump; \
		$(BIN)/srpump completion bash >$$share/bash-completion/completions/srpump; \
		for c in $(COMMANDS); do ln -sf srpump $$share/bash-completion/completions/$$c; \
			$(BIN)/srpump completion fish >$$share/fish/vendor_completions.d/$$c.fish; done
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@BIN@|$(PREFIX)/bin|' dist/systemd/srpump@.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/srpump@.service

clean: ## what build made
	rm -rf $(BIN)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
