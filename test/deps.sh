#!/bin/bash
# deps.sh - install what the tests, the demo or the benchmark need, when missing.
#
# usage: deps.sh test|demo|bench
#
# Debian packages; for the tests and the benchmark 2 MB hugepages for DPDK's
# programs ($HUGEPAGES overrides how many; gvswitch itself uses none) and
# Debian's cloud kernel for QEMU, unpacked into $GVSWITCH_TEST_CACHE and
# not installed. Needs root. Does nothing, quickly, the second time.
set -euo pipefail

cache=${GVSWITCH_TEST_CACHE:-/var/cache/gvswitch-test}
guests="user-mode-linux busybox-static dash iperf3 tcpdump ethtool iproute2"
ovs="openvswitch-switch openvswitch-switch-dpdk dpdk"
case ${1:-} in
demo)  packages=$guests pages=0;;
test)  packages="$guests $ovs qemu-system-x86 gcc libc6-dev" pages=1024;;
bench) packages="$guests $ovs qemu-system-x86 dpdk-dev libdpdk-dev pkg-config gcc libc6-dev" pages=1024;;
*)     sed -n '2,/^set /{/^#/s/^# \?//p}' "$0" >&2; exit 2;;
esac

[ "$(id -u)" = 0 ] || { echo "deps.sh: needs root" >&2; exit 1; }

# quietly COMMAND...: prints its output only if it fails. Another apt or dpkg at
# work is waited for.
quietly() {
    local log try
    log=$(mktemp)
    for try in 1 2 3 4 5 6; do
        "$@" >"$log" 2>&1 </dev/null && { rm -f "$log"; return 0; }
        grep -q 'Could not get lock\|Unable to acquire' "$log" || break
        sleep 10
    done
    cat "$log" >&2
    rm -f "$log"
    return 1
}

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

updated=
update() {
    [ -n "$updated" ] || quietly apt-get -qq update
    updated=1
}

missing=
for p in $packages; do installed "$p" || missing="$missing $p"; done
if [ -n "$missing" ]; then
    echo "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    update
    # Debian starts the services of packages; the tests run private instances.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' > $policy
        chmod 755 $policy
        trap 'rm -f $policy' EXIT
    fi
    quietly apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=600 install $missing
fi

if [ "$1" != demo ] && ! ls "$cache"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
    echo "unpacking a kernel for QEMU guests into $cache"
    update
    work=$(mktemp -d)
    pkg=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1)
    [ -n "$pkg" ] || { echo "deps.sh: apt knows no linux-image-cloud-amd64" >&2; exit 1; }
    (cd "$work" && chmod 755 . && quietly apt-get -qq download "$pkg")
    dpkg-deb -x "$work"/"$pkg"_*.deb "$work/kernel"
    mkdir -p "$cache"
    rm -rf "$cache/kernel"
    mv "$work/kernel" "$cache/kernel"
    rm -rf "$work"
fi

pages=${HUGEPAGES:-$pages}
nr=/proc/sys/vm/nr_hugepages
if [ "$pages" -gt 0 ]; then
    [ "$(cat $nr)" -ge "$pages" ] || echo "$pages" > $nr
    [ "$(cat $nr)" -ge "$pages" ] || { echo "deps.sh: only $(cat $nr) of $pages hugepages of 2 MB could be reserved" >&2; exit 1; }
    mkdir -p /dev/hugepages
    mountpoint -q /dev/hugepages || mount -t hugetlbfs none /dev/hugepages
fi
for m in tun veth; do
    [ -d /sys/module/$m ] || modprobe -q $m 2>/dev/null || true # else it is built in
done
