#!/usr/bin/env bash
# dtagent and dtguard need only the kernel: they run a job in a root without other files, only
# /proc, /sys and /dev.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
[ "$(id -u)" = 0 ] || skip "needs root, to change the root folder"
unshare -m true 2>/dev/null || skip "this machine does not let root make namespaces"

# dtlaunch starts the dtagent beside itself: here a script that enters the empty root first.
mkdir -p "$work/bin" "$work/root/"{bin,proc,sys,dev}
cp "$bin/dtlaunch" "$work/bin/"
cp "$bin/dtagent" "$bin/dtguard" "$work/root/bin/"
cat >"$work/bin/dtagent" <<ENTER
#!/bin/sh
exec unshare -m sh -c 'cd "$work/root" && for i in proc sys dev; do mount --rbind /\$i \$i; done &&
  exec chroot . /bin/dtagent "\$@"' sh "\$@"
ENTER
chmod +x "$work/bin/dtagent"

run "$work/bin/dtlaunch" -np 2 --oversubscribe -l -wdir / /bin/dtagent --version
expect_status 0
expect_count 2 '^\[[01]\] dtagent ' "$work/out"

# A missing program is reported as usual.
run "$work/bin/dtlaunch" -np 1 -wdir / sh -c true
expect_status 127
