#!/bin/bash
# all.sh - every test of the tree, in the order of how soon each can fail.
#
# usage: all.sh [STEP...]      default: all of them
#
#   vet      go vet, for amd64 and arm64
#   lint     internal/lint
#   unit     every package but the ones below test/
#   race     the same under the race detector
#   purego   the same without assembly; and each benchmark once, so that none rots
#   fuzz     each fuzz target for $FUZZTIME (3s)
#   system   test/...: real guests and peers, one after the other
#
# GVSWITCH_SOAK=1 runs the long forms (build tag "soak", FUZZTIME 5m).
# A step that fails does not keep the later ones from running; the exit status is
# then 1. Run test/deps.sh first, as root.
set -uo pipefail
cd "$(dirname "$0")/.."

export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
tags= timeout=15m
FUZZTIME=${FUZZTIME:-3s}
if [ -n "${GVSWITCH_SOAK:-}" ]; then
    tags=soak timeout=8h FUZZTIME=5m
fi

units() { go list ./... | grep -v -e '/gvswitch/test/' -e '/internal/lint$' -e '/bench\(/\|$\)'; }

vet() {
    go vet -tags="$tags" ./... && GOARCH=arm64 CGO_ENABLED=0 go build ./... && GOARCH=arm64 CGO_ENABLED=0 go vet ./...
}

lint() { go test -count=1 -timeout 30m ./internal/lint; }

unit() { go test -timeout $timeout -tags="$tags" $(units); }

race() { CGO_ENABLED=1 go test -race -timeout $timeout -tags="$tags" $(units); }

purego() {
    go test -timeout $timeout -tags="purego,$tags" $(units) &&
        go test -run '^$' -bench . -benchtime 1x $(units) >/dev/null
}

fuzz() {
    local dir target bad=0
    while IFS=: read -r dir target; do
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -parallel 2 "$dir" || bad=1
    done < <(grep -rn --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . |
        sed -n 's|^\(.*\)/[^/]*:[0-9]*:func \(.*\)$|\1:\2|p' | sort -u)
    return $bad
}

system() {
    local limit=60m bad=0
    [ -z "$tags" ] || limit=8h
    go test -p 1 -count=1 -timeout $limit -tags="$tags" ./test/... || bad=1
    # again with a daemon that checks itself
    [ -z "$tags" ] || GVSWITCH_E2E_RACE=1 go test -count=1 -timeout $limit ./test/e2e || bad=1
    return $bad
}

failed=
for step in ${*:-vet lint unit race purego fuzz system}; do
    echo "== $step, after $SECONDS s"
    $step || failed="$failed $step"
done
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
