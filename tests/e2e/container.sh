#!/usr/bin/env bash
# --container: ranks run in a container of podman, with their numbers, pins, shared memory and only the variables that
# were named. However the job ends, no container and no conmon is left. The image is made here, of this machine's files.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtring-perf
command -v podman >/dev/null || skip "podman is not installed"
! ldd "$bin/dtagent" >/dev/null 2>&1 || ldd "$bin/dtagent" | grep -F statically >/dev/null ||
  skip "dtagent of this build needs libraries, which the image does not have"

# Images and containers of its own: the user's stay as they are.
store=$(mktemp -d /tmp/dtl-podman.XXXXXX) # podman's sockets have short paths
export CONTAINERS_STORAGE_CONF=$store/storage.conf CONTAINERS_CONF=$store/containers.conf
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/images"\nrunroot = "%s/run"\n' "$store" "$store" >"$store/storage.conf"
# runc, where it is installed, also starts containers in mixed hierarchies of control groups.
printf '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n' >"$store/containers.conf"
! command -v runc >/dev/null || printf 'runtime = "runc"\n' >>"$store/containers.conf"
remove_store() {
  podman unshare rm -rf "$store" 2>/dev/null || rm -rf "$store"
}
trap 'result=$?; remove_store; finish $result' EXIT

folder=$store/root
mkdir -p "$folder/bin" "$folder/tmp" "$folder/proc" "$folder/sys" "$folder/dev" "$folder/etc"
echo yes >"$folder/etc/only-in-the-image"
# Programs with the libraries that they need, at the same paths.
for program in /bin/sh /bin/cat /bin/sleep /bin/sed "$bin/dtring-perf"; do
  cp -L "$program" "$folder/bin/"
  ldd "$program" | grep -Eo '/[^ ]+' | sort -u | while read -r library; do
    mkdir -p "$folder$(dirname "$library")"
    cp -Lf "$library" "$folder$library"
  done
done
tar -C "$folder" -cf "$store/image.tar" .
podman import --change 'ENV OF_IMAGE=here' --change 'ENV PATH=/bin' "$store/image.tar" dtl-e2e:1 >"$work/import" 2>&1 ||
  skip "podman cannot make an image here: $(tail -n 1 "$work/import")"
limits=(--ulimit "nofile=$(ulimit -n):$(ulimit -n)" --ulimit nproc=4096:4096)
podman run --rm --network=host --pid=host "${limits[@]}" dtl-e2e:1 /bin/cat /etc/only-in-the-image >"$work/tried" 2>&1 ||
  skip "podman cannot start a container here: $(tail -n 1 "$work/tried")"

contained=(--oversubscribe --share-cores --container dtl-e2e:1)
is_clean() { [ -z "$(podman ps -aq 2>/dev/null)" ] && ! pgrep -f "conmon .*$store" >/dev/null; }
expect_clean() {
  wait_for 15 "podman to remove the container: $(podman ps -a; pgrep -af "conmon .*$store" | cut -c 1-80)" is_clean
}
cd "$work" || fail "cannot enter $work"

# Numbers, files, variables and pins.
cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' /proc/self/status)
export HIDDEN=1 NAMED=2
# shellcheck disable=SC2016
launch -np 2 "${contained[@]}" -bind-to "user:$cpu" -x NAMED sh -c 'read -r inside </etc/only-in-the-image
  echo "rank $RANK of $WORLD_SIZE: $inside, $OF_IMAGE, ${HIDDEN-none} $NAMED $PATH"
  echo "cpus $RANK $(sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status)"; echo done >"by.$RANK"'
expect_status 0
expect_out '^rank 0 of 2: yes, here, none 2 /bin$'
expect_out '^rank 1 of 2: yes, here, none 2 /bin$'
expect_out "^cpus 0 $cpu\$"
[ -O by.0 ] && [ -O by.1 ] || fail "what the ranks wrote is not this user's: $(ls -ln)"
is_clean || fail "when dtlaunch ended, there was still: $(podman ps -a)"
launch -np 2 "${contained[@]}" dtring-perf allreduce -b 4K -e 4K -n 5
expect_status 0

# Refused before a rank runs.
launch -np 1 --container dtl-none:1 touch started
expect_status 78
expect_err '^dtlaunch: .*--container dtl-none:1: podman does not have this image there\. Try: podman pull dtl-none:1$'
launch -np 1 "${contained[@]}" no-such-program
expect_status 127
expect_err "cannot run 'no-such-program': it is not in the container"
launch -np 1 --dry-run "${contained[@]}" sh
expect_status 0
expect_err 'ranks run in a container of dtl-e2e:1 on each host'

# However it ends.
launch -np 2 "${contained[@]}" sh -c 'exit 3'
expect_status 3
expect_clean
begin() { # starts a job whose ranks run on
  rm -f here.*
  # shellcheck disable=SC2016
  start_job -np 2 "${contained[@]}" sh -c 'echo >"here.$RANK"; exec sleep 600.0253'
  wait_for 20 "the ranks" test -e here.0 -a -e here.1
}
expect_ended() {
  no_ranks() { ! pgrep -f 'sleep 600\.0253' >/dev/null; }
  wait_for 15 "the ranks to end" no_ranks
  expect_clean
}
begin
signal INT "-$launcher"
end_job
expect_status 130
expect_ended
begin
kill -KILL "$launcher"
end_job
expect_ended
begin
kill -KILL "$(pgrep -P "$(pgrep -P "$launcher" -x job-keeper)" -x dtagent)"
end_job
expect_status 71
expect_ended
