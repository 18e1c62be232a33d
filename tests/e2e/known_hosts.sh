#!/usr/bin/env bash
# known_hosts accepts a host exactly if ssh does, for all kinds of lines (negated and wildcard
# patterns, revoked keys, other hosts' keys) and places: another port, further files, HostKeyAlias,
# KnownHostsCommand. Runs DTL_KNOWN_HOSTS_ROUNDS rounds of each from seed DTL_KNOWN_HOSTS_SEED on.
. "$(dirname "$0")/lib.sh"
need_cluster 2

file=/run/root/.ssh/known_hosts
key=$(on node1 awk '/^node2,/ { print $2 " " $3; exit }' $file)
[ -n "$key" ] || fail "node1 does not know node2"
first=${DTL_KNOWN_HOSTS_SEED:-1} rounds=${DTL_KNOWN_HOSTS_ROUNDS:-25}

compare() { # SEED FILE...
  local theirs=refused ours=refused
  on node1 ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o UpdateHostKeys=no node2 true \
    2>/dev/null </dev/null && theirs=accepted
  launch -H node2 -n 1 true
  [ "$status" = 0 ] && ours=accepted
  [ $ours = $theirs ] || fail "seed $1: ssh $theirs the host, dtlaunch $ours it: $(tail -n +1 "${@:2}"; cat "$work/err")"
  [ $ours = refused ] || ((++accepted))
}

accepted=0
for ((seed = first; seed < first + rounds; seed++)); do
  python3 "$e2e/known_hosts_lines.py" "$seed" "$key" $((seed % 3 + 1)) >"$work/known_hosts"
  on node1 cp "$work/known_hosts" $file
  compare $seed "$work/known_hosts"
done
[ "$accepted" -gt 3 ] || fail "only $accepted files let the host in"

on node2 /usr/sbin/sshd -f /run/cluster/sshd_config -o Port=2223 -o PidFile=/run/sshd2.pid -E /run/sshd2.log
wait_for 30 "the second sshd" on node2 sh -c '[ -n "$(ss -Hltn sport = :2223)" ]'
accepted=0
mkdir "$work/places"
for ((seed = first; seed < first + rounds; seed++)); do
  python3 "$e2e/known_hosts_places.py" "$seed" "$key" "$work/places"
  on node1 sh -c 'cp "$1"/* ~/.ssh/; chmod 600 ~/.ssh/config' - "$work/places"
  compare $seed "$work"/places/*
done
[ "$accepted" -gt 5 ] && [ "$accepted" -lt $rounds ] || fail "$accepted of $rounds places let the host in"

# The hint concerns the wrong entry, and following it helps.
on node1 sh -c 'printf "Host node2\n Port 2223\n UserKnownHostsFile ~/.ssh/known_hosts ~/.ssh/more\n" >~/.ssh/config
  : >~/.ssh/known_hosts; echo "[node2]:2223 $1" >~/.ssh/more' - "$(sed -n 's/^OTHER_KEY = "\(.*\)"/\1/p' "$e2e/known_hosts_places.py")"
launch -H node2 -n 1 true
expect_status 77
expect_err 'CHANGED: .*/\.ssh/more:1 says'
hint=$(grep -o 'ssh-keygen -f [^#]*' "$work/err" | head -n 1)
on node1 sh -c "$hint" >/dev/null 2>&1 || fail "the hint '$hint' fails"
on node1 sh -c 'echo "node2 $1" >~/.ssh/known_hosts' - "$key"
launch -H node2 -n 1 true
expect_status 0
on node2 sh -c 'kill "$(cat /run/sshd2.pid)"'
expect_hosts_idle 10
