#!/usr/bin/env bash
# The systemd units of the per-user service are well-formed. A real user manager starts the service
# at the first launch, knows its state, restarts it when it hangs, and ends it with its jobs.
. "$(dirname "$0")/lib.sh"
need_program dtagent dtguard dtlaunch
command -v systemd-analyze >/dev/null || skip "systemd is not installed"
[ "$(id -u)" = 0 ] || skip "only root can make a place for a user manager"

mkdir -p "$work/units"
cp "$root/packaging/systemd/dtagent.socket" "$work/units/"
# root plays the user, the programs are this build's, and a short timeout detects hangs.
sed "s|@DTAGENT@|\"$bin/dtagent\"|; s|--service\$|--service --allow-root|; s|WatchdogSec=.*|WatchdogSec=1|" \
  "$root/packaging/systemd/dtagent.service.in" >"$work/units/dtagent.service"
grep -q "@DTAGENT" "$work/units/dtagent.service" && fail "something is not filled in"
run env XDG_RUNTIME_DIR="$work" systemd-analyze --user verify --man=no "$work/units/dtagent.service" "$work/units/dtagent.socket"
expect_status 0
expect_no_err 'dtagent'

groups=/sys/fs/cgroup/systemd
[ -w $groups ] || skip "no control groups for systemd at $groups"
mkdir "$groups/dtlaunch-test.$$" || skip "cannot make a control group"

# A user manager expects a machine with systemd: its own /run, /tmp and cgroup. The checkout and its
# build may be below /tmp or /run: mount them again.
cat >"$work/inside" <<'INSIDE'
group=$1 units=$2 dtlaunch=$3 record_family=$4 record=$5
set -e
echo $$ >"$group/cgroup.procs"
needed=("$units" "$(dirname "$dtlaunch")" "$(dirname "$record_family")" "$(dirname "$record")")
for i in "${!needed[@]}"; do exec {fd}<"${needed[i]}"; kept[i]=$fd; done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
for i in "${!needed[@]}"; do
  fd=${kept[i]}
  [ "${needed[i]}" -ef "/proc/self/fd/$fd" ] ||
    { mkdir -p "${needed[i]}" && mount -c --rbind "/proc/self/fd/$fd" "${needed[i]}"; }
  exec {fd}<&-
done
cd / # this folder may be covered by a mount
mkdir -p /run/systemd/system /tmp/config/systemd/user
mkdir -p -m 700 /run/user/0
cp "$units"/* /tmp/config/systemd/user/
unset DBUS_SESSION_BUS_ADDRESS NOTIFY_SOCKET
export XDG_RUNTIME_DIR=/run/user/0 XDG_CONFIG_HOME=/tmp/config HOME=/tmp
/usr/lib/systemd/systemd --user --log-target=console >"$units/manager.log" 2>&1 &
until_true() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "in vain: $*"; exit 1; }
until_true test -S /run/user/0/systemd/private
systemctl --user start dtagent.socket
stat -c 'socket %a' /run/user/0/dtlaunch/agent.socket
stat -c 'folder %a' /run/user/0/dtlaunch
main() { systemctl --user show -p MainPID --value dtagent.service; }
echo "before: $(systemctl --user is-active dtagent.service || true)"
"$dtlaunch" -np 1 sh -c 'grep -h systemd /proc/self/cgroup'
echo "after: $(systemctl --user is-active dtagent.service)"
systemctl --user show -p StatusText dtagent.service
first=$(main)
kill -STOP "$first"
restarted() { [ "$(main)" != "$first" ] && [ "$(main)" != 0 ]; }
until_true restarted
echo restarted
"$dtlaunch" -np 2 "$record_family" "$record" &
job=$!
recorded() { [ "$(wc -l <"$record")" -ge 8 ]; }
until_true recorded
systemctl --user stop dtagent.socket dtagent.service
wait $job || echo "job: $?"
ps -eo comm | grep -cE '^(sleep|dtagent|dtguard)$' || true
systemctl --user show -p Result dtagent.service
INSIDE
run unshare --mount --pid --fork --mount-proc --kill-child bash "$work/inside" "$groups/dtlaunch-test.$$" \
  "$work/units" "$bin/dtlaunch" "$e2e/record_family" "$record"
find "$groups/dtlaunch-test.$$" -depth -type d -exec rmdir {} + 2>/dev/null
expect_status 0
expect_out '^socket 600$'
expect_out '^folder 700$'
expect_out '^before: inactive$'
expect_out 'dtagent.service$'
expect_out '^after: active$'
expect_out '^StatusText=[01] jobs? on this node$'
expect_out '^restarted$'
expect_out '^job: 71$'
expect_out '^0$'
expect_out '^Result=success$'
