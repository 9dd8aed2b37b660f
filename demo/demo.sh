#!/bin/bash
# demo.sh - two Linux guests, a network namespace, a tap and the host on one
# bridge of gvswitch: pings between all of them, TCP between some, counters.
#
# Everything that it makes on this machine (a gvswitchd of its own with the
# bridge gvbr0, the namespaces gvdemo-net and gvdemo-tap, processes, files) is
# gone when it ends, however it ends. Needs root, Go, and what test/deps.sh
# installs. $KEEP=1 waits for Enter before the end.
set -euo pipefail
cd "$(dirname "$0")/.."

# The range for benchmarks (RFC 2544) and a private prefix: nobody's network.
net4=198.18.77 net6=fd77:6776::
tmp=$(mktemp -d /tmp/gvdemo.XXXXXX)
export GUEST_DIR=$tmp/guests
run=$tmp/run
daemon='' servers=''

cleanup() {
    trap - EXIT INT TERM HUP
    set +e
    say "Taking everything down"
    [ ! -x "$tmp/guest" ] || "$tmp/guest" stop a b
    [ -z "$servers" ] || kill $servers 2>/dev/null
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null
        wait "$daemon" 2>/dev/null
    fi
    ip netns del gvdemo-net 2>/dev/null
    ip netns del gvdemo-tap 2>/dev/null
    rm -rf "$tmp"
}

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
# fail TEXT: the end, with the daemon's log
fail() {
    echo "demo: $*" >&2
    [ ! -f "$tmp/log" ] || sed 's/^/    /' "$tmp/log" >&2
    exit 1
}
# gvsctl ARG...: shows the command and runs it
gvsctl() {
    echo "\$ gvsctl $*"
    bin/gvsctl --run-dir "$run" "$@" || fail "gvsctl $1 failed"
}
# on HOST COMMAND: runs a shell command on a guest, in a namespace or here
on() {
    case $1 in
    a|b)  "$tmp/guest" exec "$1" "$2";;
    net)  ip netns exec gvdemo-net sh -c "$2";;
    tap)  ip netns exec gvdemo-tap sh -c "$2";;
    host) sh -c "$2";;
    esac
}

[ "$(id -u)" = 0 ] || fail "needs root"
[ ! -e /sys/class/net/gvbr0 ] || fail "there is a device gvbr0 already"
for n in gvdemo-net gvdemo-tap; do
    [ ! -e /run/netns/$n ] || fail "there is a namespace $n already (ip netns del $n)"
done
trap cleanup EXIT
trap 'echo "demo: failed: $BASH_COMMAND" >&2' ERR
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say "Building gvswitchd and gvsctl"
mkdir -p "$run" "$tmp/state"
make -s build
go build -buildvcs=false -o "$tmp/guest" ./test/guest/cmd/guest
for program in gvswitchd gvsctl; do bin/$program --version; done

say "A bridge with five ports"
bin/gvswitchd --run-dir "$run" --state-dir "$tmp/state" >"$tmp/log" 2>&1 </dev/null &
daemon=$!
for _ in $(seq 100); do
    bin/gvsctl --run-dir "$run" show >/dev/null 2>&1 && break
    kill -0 $daemon 2>/dev/null || fail "gvswitchd ended"
    sleep 0.1
done
ip netns add gvdemo-net
ip netns add gvdemo-tap
gvsctl add-br gvbr0
gvsctl add-port gvbr0 vm-a -- set Interface vm-a type=dpdkvhostuser
gvsctl add-port gvbr0 vm-b -- set Interface vm-b type=dpdkvhostuser
gvsctl add-port gvbr0 gvnet0 -- set Interface gvnet0 type=veth options:peer=eth0 options:netns=gvdemo-net
gvsctl add-port gvbr0 gvtap0 -- set Interface gvtap0 type=tap options:netns=gvdemo-tap

say "Hosts on them: guests a and b, namespaces net and tap, and this host on the bridge's own port"
# address HOST DEVICE NUMBER
address() {
    on "$1" "ip addr add $net4.$3/24 dev $2 && ip -6 addr add $net6$3/64 dev $2 nodad && ip link set $2 up"
}
address net eth0 3
address tap gvtap0 4
address host gvbr0 5
n=0
for g in a b; do
    n=$((n + 1))
    "$tmp/guest" start -kind uml -socket "$run/vm-$g" -ip $net4.$n/24 -ip6 $net6$n/64 -mac 02:00:00:00:00:0$n $g
    printf '%s: ' $g
    on $g 'uname -srm'
done

say "Everybody pings everybody (milliseconds, IPv4/IPv6)"
names=(a b net tap host)
printf '%8s' from/to
printf "%14s" "${names[@]}"
echo
bad=0
for i in 1 2 3 4 5; do
    printf '%8s' "${names[i - 1]}"
    for j in 1 2 3 4 5; do
        cell=-
        if [ $i != $j ]; then
            cell=
            for to in $net4.$j $net6$j; do
                # the first one resolves the address
                ms=$(on "${names[i - 1]}" "busybox ping -c 1 -W 5 $to >/dev/null; busybox ping -c 1 -W 5 $to" |
                    sed -n 's/.* time=\([0-9.]*\) ms/\1/p') || true
                [ -n "$ms" ] || { ms=none; bad=1; }
                cell=$cell${cell:+/}${ms%?}
            done
        fi
        printf "%14s" "$cell"
    done
    echo
done
[ $bad = 0 ] || fail "not every ping was answered"

say "TCP, one stream, 3 seconds each; nobody's offload settings were touched"
on b 'iperf3 -s -D'
ip netns exec gvdemo-net iperf3 -s >/dev/null 2>&1 </dev/null &
servers="$servers $!"
sleep 0.5
# tcp FROM TO ADDRESS [FLAG]
tcp() {
    local out
    out=$(on "$1" "iperf3 -f g -t 3 -c $3 ${4:-}" 2>&1) || fail "iperf3 from $1 to $2: $out"
    printf '%-4s %s %-4s %-16s %s\n' "$1" "$([ -z "${4:-}" ] && echo '->' || echo '<-')" "$2" "$3" \
        "$(echo "$out" | sed -n 's/.* \([0-9.]* Gbits.sec\).*receiver.*/\1/p')"
}
tcp a b $net4.2
tcp a b ${net6}2
tcp a b $net4.2 -R
tcp a net $net4.3
tcp a net ${net6}3
tcp a net $net4.3 -R

say "What the switch says"
gvsctl show
gvsctl fdb/show gvbr0
gvsctl dump-ports --names gvbr0

if [ "${KEEP:-}" = 1 ]; then
    echo
    echo "Try:  bin/gvsctl --run-dir $run list-commands"
    echo "      GUEST_DIR=$GUEST_DIR $tmp/guest exec a 'ip addr'"
    read -r -p "Enter ends it: " _
fi
say "All of it worked"
