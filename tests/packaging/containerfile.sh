#!/usr/bin/env bash
# Tests the image of packaging/Containerfile, which containerfile.py builds in folders: its steps
# succeed, it holds no key, it runs jobs by itself, and two pods reach each other by ssh.
#   containerfile.sh BASE CONTEXT WORK [LENT]
# BASE: a root in place of Debian's images; CONTEXT: the tree; WORK: an empty folder; LENT: as in
# tests/clean_room/room.sh. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
base=$(realpath "$1") context=$(realpath "$2") work=$(realpath "$3") lent=${4-}
groups=()  # process groups that hold the pods' networks, and their sshd

fail() {
  echo "FAILED: containerfile.sh: $*" >&2
  exit 1
}
image() { /usr/bin/python3 "$here/containerfile.py" "$@"; }
leave() {
  local group
  for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done
  wait
}
trap leave EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

image build "$context/packaging/Containerfile" "$context" "$work" \
  --base "debian:bookworm=$base" --base "debian:bookworm-slim=$base" ${lent:+--lend "$lent"}
final=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["root"])' "$work/image.json")

keys=$(grep -rlIE -- '-----BEGIN [A-Z ]*PRIVATE KEY-----' "$final/etc" "$final/home" "$final/root" "$final/usr/local" || true)
[ -z "$keys" ] || fail "the image holds keys: $keys"
"$here/elf.sh" "$final/usr/local"
"$here/sbom_check.py" "$final/usr/local/share/doc/dtlaunch/dtlaunch.spdx.json" \
  "$final"/usr/local/bin/dt* "$final"/usr/local/lib/libdtring.so.*

# Each pod is a copy with its own network; all have the files that a secret would mount.
secret=$work/secret
mkdir "$secret"
ssh-keygen -q -t ed25519 -N '' -C '' -f "$secret/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -C '' -f "$secret/ssh_host_ed25519_key"
cp "$secret/id_ed25519.pub" "$secret/authorized_keys"
echo "[*]:2222 $(cat "$secret/ssh_host_ed25519_key.pub")" >"$secret/known_hosts"

in_background() {
  set -m
  "$@" &
  groups+=($!)
  set +m
}
new_pod() { # NAME ADDRESS
  cp -a --reflink=auto "$final" "$work/$1"
  printf '127.0.0.1 localhost\n10.99.0.1 pod1\n10.99.0.2 pod2\n' >"$work/$1/etc/hosts"
  in_background unshare --net sleep infinity
  declare -g "$1=$!"
  until [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
}
in_pod() { # NAME COMMAND...
  nsenter --target "${!1}" --net "${@:2}"
}
pod_runs() { # NAME [COMMAND...]
  in_pod "$1" /usr/bin/python3 "$here/containerfile.py" run --root "$work/$1" "$work/image.json" "${@:2}"
}
new_pod pod1
new_pod pod2
# shellcheck disable=SC2154
ip link add veth0 netns "$pod1" type veth peer name veth0 netns "$pod2"
for number in 1 2; do
  in_pod pod$number ip address add 10.99.0.$number/24 dev veth0
  in_pod pod$number ip link set veth0 up
  in_pod pod$number ip link set lo up
done

# Without keys: one pod can run a job, and the default command says what it needs.
[ "$(pod_runs pod1 id -un)" = dtlaunch ] || fail "it runs as $(pod_runs pod1 id -un)"
said=$(pod_runs pod1 dtlaunch -np 2 sh -c 'echo "rank $RANK"' | sort | tr '\n' ' ')
[ "$said" = "rank 0 rank 1 " ] || fail "a job in one pod prints $said"
pod_runs pod1 dtlaunch -np 2 >"$work/log" 2>&1 && grep -q accuracy "$work/log" ||
  fail "the demonstration in one pod: $(cat "$work/log")"
status=0
pod_runs pod2 2>"$work/log" || status=$?
[ $status = 66 ] && grep -q authorized_keys "$work/log" || fail "a pod without keys: $status, $(cat "$work/log")"

# With keys: both wait, and a job starts in one.
deadline=$((SECONDS + 120)) # other tests may run at the same time
for pod in pod1 pod2; do
  cp "$secret"/* "$work/$pod/home/dtlaunch/.ssh/"
  chroot "$work/$pod" chown -R dtlaunch: /home/dtlaunch/.ssh
  in_background pod_runs $pod >"$work/$pod.log" 2>&1
  until in_pod pod1 bash -c ": </dev/tcp/10.99.0.${pod#pod}/2222" 2>/dev/null; do
    [ $SECONDS -lt $deadline ] || fail "$pod does not listen: $(cat "$work/$pod.log")"
    sleep 0.1
  done
done
pod_runs pod1 dtlaunch -hosts pod1,pod2 -ppn 1 readlink /proc/self/ns/net >"$work/out" 2>"$work/log" ||
  fail "a job on two pods ended with $?: $(cat "$work/log" "$work"/pod?.log)"
[ "$(sort -u "$work/out" | wc -l)" = 2 ] || fail "two ranks in two pods: $(cat "$work/out")"
pod_runs pod1 dtlaunch -hosts pod1,pod2 -ppn 1 >"$work/out" 2>"$work/log" && grep -q accuracy "$work/out" ||
  fail "the demonstration on two pods: $(cat "$work/log" "$work/out")"

size=$(du -sm --exclude=var/cache/apt/archives "$final" | cut -f 1)
echo "the image: $size MiB, of which $(du -sm "$final/usr/local" | cut -f 1) MiB are dtlaunch; its base has $(du -sm "$base" | cut -f 1) MiB"
