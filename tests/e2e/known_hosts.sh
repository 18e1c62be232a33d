#!/usr/bin/env bash
# Whether known_hosts lets a host in is what ssh says, whatever its lines: negated and wild patterns,
# revoked keys, keys of others. DTL_KNOWN_HOSTS_ROUNDS more files, beginning with seed
# DTL_KNOWN_HOSTS_SEED.
. "$(dirname "$0")/lib.sh"
need_cluster 2

file=/run/root/.ssh/known_hosts
key=$(on node1 awk '/^node2,/ { print $2 " " $3; exit }' $file)
[ -n "$key" ] || fail "node1 does not know node2"
first=${DTL_KNOWN_HOSTS_SEED:-1} accepted=0
for ((seed = first; seed < first + ${DTL_KNOWN_HOSTS_ROUNDS:-40}; seed++)); do
  python3 "$e2e/known_hosts_lines.py" "$seed" "$key" $((seed % 3 + 1)) >"$work/known_hosts"
  on node1 cp "$work/known_hosts" $file
  theirs=refused ours=refused
  on node1 ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o UpdateHostKeys=no node2 true \
    2>/dev/null </dev/null && theirs=accepted
  launch -H node2 -n 1 true
  [ "$status" = 0 ] && ours=accepted
  [ $ours = $theirs ] || fail "seed $seed: ssh $theirs the host, dtlaunch $ours it: $(cat "$work/known_hosts")"
  [ $ours = refused ] || ((++accepted))
done
[ "$accepted" -gt 3 ] || fail "only $accepted files let the host in"
expect_hosts_idle 10
