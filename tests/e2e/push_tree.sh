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
# Where a machine has no time for a seeder, it counts as lost, and the launcher feeds its child.
expect_fed() { # SENT FETCHED FILE: 8 hosts, of which the launcher feeds four or, at worst, six
  local sent fetched
  sent=$(grep -Ec -- "$1" "$3")
  fetched=$(grep -Ec -- "$2" "$3")
  [ $((sent + fetched)) = 8 ] && [ "$sent" -ge 4 ] && [ "$sent" -le 6 ] || fail "$sent hosts fed by the launcher, $fetched by others"
}
expect_programs() { # that each host has just the programs of this build, and no seeder
  local host seen
  for host in "${far[@]}"; do
    seen=$(on "$host" sh -c "cd ~/$cache/ && ls -A | wc -l && cd *[0-9a-f] && sha256sum dt*")
    expect_equal "versions on $host, and their programs" "$seen" "1"$'\n'"$(sums)"
  done
  expect_hosts_idle 10
}

before=$(sent)
launch -v -f "$work/far" --push -ppn 1 -np 8 uname -n
expect_status 0
expect_count 8 '^node[2-9]$' "$work/out"
expect_fed 'node[2-9]: sent ' 'node[2-9]: fetched .* from node[2-9] \(0\.0 MB sent from here\)' "$work/err"
bytes=$(($(sent) - before))
[ $bytes -lt $((7 * size)) ] || fail "the launcher sent $bytes bytes for programs of $size"
expect_programs

# Ahead of time, if hosts do not reach each other.
push --remove
expect_status 0
declare -A address
for host in "${far[@]}"; do address[$host]=$(on node1 getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }'); done
routes() { # add|del OTHER...: of each host to these
  local how=$1 host other commands
  shift
  for host in "${far[@]}"; do
    commands=''
    for other in "$@"; do
      [ "$host" = "$other" ] || commands+="ip route $how unreachable ${address[$other]} && "
    done
    on "$host" sh -c "$commands true" || fail "cannot change the routes of $host"
  done
}
routes add "${far[@]}"
push
expect_status 0
expect_count 8 '^node[2-9]: sent [0-9.]+ MB to ' "$work/out"
expect_programs

# One host, node2, cannot feed others. They get another host, and hosts feed others until all have the programs.
routes del "${far[@]:1}"
push --remove
push
expect_status 0
expect_fed '^node[2-9]: sent [0-9.]+ MB to ' '^node[2-9]: fetched from node[3-9] to ' "$work/out"
expect_programs
