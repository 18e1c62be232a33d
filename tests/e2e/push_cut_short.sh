#!/usr/bin/env bash
# A push killed in the middle leaves no partial version: leftovers are removed at once, or by the
# next push. Parallel pushes do not disturb each other.
. "$(dirname "$0")/lib.sh"
need_cluster 2 --rate 8mbit
cache='.cache/dtlaunch'
on node2 mount -t tmpfs none "$bin"
content() { on node2 sh -c "cd ~/$cache 2>/dev/null && ls -A"; }
arriving() { grep -q '^\.new-' < <(content); }
empty() { [ -z "$(content)" ]; }

# The launcher dies.
start_job -hosts node2 --push -np 1 uname -n
wait_for 10 "the push to begin" arriving
signal KILL "$launcher"
end_job
wait_for 10 "its remains to be removed: $(content)" empty

# The remote side dies, and cannot clean up.
start_job -hosts node2 --push -np 1 uname -n
wait_for 10 "the push to begin" arriving
on node2 sh -c 'kill -9 $(pgrep -f DTLAUNCH-PUSH)'
end_job
expect_status 73
arriving || fail "nothing is left of the killed push, so the next has nothing to show"

# Two at once: both jobs run, one version is there, and old leftovers are gone.
start_job -hosts node2 --push -np 1 uname -n
launch -hosts node2 --push -np 1 uname -n
expect_status 0
end_job
expect_status 0
version=$("$bin/dtlaunch" --version | sed -n 's/^dtlaunch \([0-9.]*\),.*/\1/p')
expect_equal "what is there" "$(content | sed 's/[0-9a-f]\{16\}/HASH/')" "$version-HASH"
expect_hosts_idle 10
