# The two most important commands are `make run` and `make test`. `make help` lists all.

SHELL := /bin/bash
# Without the path of the clone in them, packages are compiled once for all clones, also for the copies in which tests follow
# the README.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath
# The race detector needs a C compiler. Without a C compiler, the tests run without the race detector. Some packages are compiled without
# it. The engine of SQLite is C translated to Go: its memory is outside the heap of Go, where the detector sees nothing. Argon2 fills
# 19 MiB for each password, which with the detector takes half of the time of the identity service's tests. The parsers of HTML and YAML,
# templates, JSON and compression start no goroutine, and take several times as long with the detector. Templates and JSON read records
# with package reflect, which is watched. JSON shares its caches by functions of package sync: if they were inlined (-l prevents it), the
# detector would not see them either.
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b \
	golang.org/x/net/html/... github.com/goccy/go-yaml/... github.com/andybalholm/brotli/... compress/... html html/template text/template/...
RACE := $(shell command -v cc >/dev/null 2>&1 && echo "-race $(UNWATCHED:%=-gcflags=%=-race=false) '-gcflags=encoding/json=-race=false -l'")
# With a larger heap, the compiler needs a fifth less processor time, and up to 1 GB of memory.
COMPILE := GOGC=400
# The tests run with the usual heap. The race detector has reported every race by the end of the tests of a package: it need not
# wait a second for more, as it does by itself. GOTMPDIR is where CI compiles. The tests would put their data there instead of TMPDIR.
EXEC := env -u GOGC -u GOTMPDIR GORACE=atexit_sleep_ms=0
# The tests of a package mostly wait, so more packages than processors run at the same time.
PACKAGES = $$(( $$(getconf _NPROCESSORS_ONLN) + 1 ))
MODULES = $(shell go list -m -f '{{.Dir}}')
# The longest tests begin first, so that none of them runs alone at the end.
LONGEST = $(addprefix $(CURDIR)/,deploy/standalone services/events services/delivery gateway)
# The tests of the Helm chart are outside the workspace, because their requirements would change the versions of other modules.
CHART = deploy/kubernetes/tests

.PHONY: run test test-long up down command lint tidy generate bench proof help
.DEFAULT_GOAL := help

run: ## the whole platform in one process on 127.0.0.1:8080, data under ./data
	@$(COMPILE) go build -o bin/bellbuoy ./deploy/standalone && exec bin/bellbuoy

test: ## every test of every module; `make lint` runs vet
	$(COMPILE) go test -exec '$(EXEC)' -ldflags=-w $(RACE) -vet=off -p $(PACKAGES) -parallel 4 -timeout 30m $(patsubst %,%/...,$(LONGEST) $(filter-out $(LONGEST),$(MODULES)))
	cd $(CHART) && $(COMPILE) GOWORK=off go test -exec '$(EXEC)' -vet=off ./...

test-long: ## what takes too long for CI: Helm, Jaeger, Alertmanager, the soak, the proofs, fuzzing, the clients, the browser; about an hour and a half
	scripts/long

up: ## the platform as containers: MongoDB, Redis, Kafka, Jaeger and the seven binaries; settings in .env
	@scripts/up

down: ## stop the containers and keep their volumes
	docker compose down

command: ## a command of the operator on the containers: make command ARGS="org list"
	@docker compose run --rm -T bellbuoy $(or $(ARGS),-h)

lint: ## formatting, vet; each module without the workspace: tidy, the same versions
	@$(COMPILE) RACE="$(RACE)" scripts/lint

tidy: ## go mod tidy in every module
	@for module in $(MODULES) $(CHART) $(CHART)/helm; do (cd $$module && GOWORK=off go mod tidy) || exit 1; done

generate: ## the OpenAPI documents, from the operations that the services declare
	go run ./deploy/standalone/generate

bench: ## measured ratios against controls in the same run
	scripts/bench

proof: ## the long forms of the tests that kill processes; about half an hour
	scripts/proof

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
