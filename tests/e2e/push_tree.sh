#!/usr/bin/env bash
# --push to many hosts: the launcher feeds four, they feed the others, and nothing of that stays. Where hosts do not
# reach each other, the launcher feeds all.
. "$(dirname "$0")/lib.sh"
need_cluster 9
cache='.cache/dtlaunch'
far=()
for ((i = 2; i <= 9; i++)); do far+=("node$i"); done
printf '%s\n' "${far[@]}" >"$work/far"
small=$work/bin # without dttrain, so that dtlaunch push sends less
mkdir "$small"
for program in dtlaunch dtagent dtguard dtpmix; do
  [ ! -e "$bin/$program" ] || cp "$bin/$program" "$small/"
done
for host in "${far[@]}"; do
  for folder in "$bin" "$small"; do on "$host" mount -t tmpfs none "$folder"; done
done
push() { run "$cluster" exec node1 "$small/dtlaunch" push -f "$work/far" "$@"; }
sent() { on node1 awk '$1 == "eth0:" { print $10 }' /proc/net/dev; } # bytes
size=0
for program in dtagent dtguard dtpmix; do
  [ ! -e "$bin/$program" ] || size=$((size + $(stat -c %s "$bin/$program")))
done
sums() { (cd "$bin" && for f in dtagent dtguard dtpmix; do [ ! -e $f ] || sha256sum $f; done); }
expect_programs() { # that each host has just the programs of this build, and no seeder
  local host seen
  for host in "${far[@]}"; do
    seen=$(on "$host" sh -c "cd ~/$cache/*[0-9a-f] && sha256sum dt*")
    expect_equal "programs of $host" "$seen" "$(sums)"
    expect_equal "versions on $host" "$(on "$host" sh -c "ls -A ~/$cache | wc -l")" 1
  done
  expect_hosts_idle 10
}

before=$(sent)
launch -v -f "$work/far" --push -ppn 1 -np 8 uname -n
expect_status 0
expect_count 8 '^node[2-9]$' "$work/out"
expect_count 4 'node[2-9]: sent ' "$work/err"
expect_count 4 'node[2-9]: fetched .* from node[2-9] \(0\.0 MB sent from here\)' "$work/err"
bytes=$(($(sent) - before))
[ $bytes -lt $((5 * size)) ] || fail "the launcher sent $bytes bytes for programs of $size"
expect_programs

# Ahead of time, if hosts do not reach each other.
push --remove
expect_status 0
declare -A address
for host in "${far[@]}"; do address[$host]=$(on node1 getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }'); done
for host in "${far[@]}"; do
  for other in "${far[@]}"; do
    [ "$host" = "$other" ] || on "$host" ip route add unreachable "${address[$other]}"
  done
done
push
expect_status 0
expect_count 8 '^node[2-9]: sent [0-9.]+ MB to ' "$work/out"
expect_programs

# One host, node2, cannot feed others. They get another host, and hosts feed others until all have the programs.
for host in "${far[@]}"; do
  for other in "${far[@]:1}"; do
    [ "$host" = "$other" ] || on "$host" ip route del unreachable "${address[$other]}"
  done
done
push --remove
push
expect_status 0
expect_count 4 '^node[2-9]: sent [0-9.]+ MB to ' "$work/out"
expect_count 4 '^node[2-9]: fetched from node[3-9] to ' "$work/out"
expect_programs
