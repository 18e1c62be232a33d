#!/usr/bin/env bash
# --sync and --venv: code and environment come to a host that does not share them, only what changed; a host that
# shares them is left alone; a sync that is killed leaves nothing half placed.
. "$(dirname "$0")/lib.sh"
need_cluster 2 --rate 16mbit
command -v git >/dev/null || skip "there is no git"
code='/tmp/the code' # each host has its own /tmp
# shellcheck disable=SC2016
on node1 bash -euc 'mkdir -p "$1/part" && cd "$1" && git init -q
  printf "*.pt\n" >.gitignore
  printf "#!/bin/sh\necho \"\$(uname -n) \$(pwd): \$(cat link)\"\n" >run && chmod +x run
  echo one >part/data && ln -s part/data link && echo x >model.pt && echo x >"$(printf "odd\nname")"
  git add .gitignore run' make "$code" || fail "cannot make the code"
there() { on node2 sh -c "cd '$1' && find . -path ./.dtlaunch-sync -prune -o ! -type d -printf '%P %y %m\n' | sort"; } # FOLDER

launch --dry-run --sync "$code" -hosts node1,node2 -ppn 1 ./run
expect_status 0
expect_err "--sync $code: 5 files, 1 kB, as git lists them; --dry-run brings nothing to hosts"
on node2 test ! -e "$code" || fail "--dry-run brought the code"

launch -v --sync "$code" -hosts node1,node2 -ppn 1 ./run
expect_status 0
expect_out "^node1 $code: one$"
expect_out "^node2 $code: one$"
expect_err "node2: brought 4 files of $code to $code "
expect_equal "what came" "$(there "$code")" "$(printf '%s\n' '.gitignore f 644' 'link l 777' 'name f 644' 'odd' \
  'part/data f 644' 'run f 755' | sort)"

# Only what changed; what was removed here vanishes there, and what ranks made there stays.
# shellcheck disable=SC2016
on node1 sh -c 'cd "$1" && echo two >part/data && rm "$(printf "odd\nname")"' change "$code"
on node2 touch "$code/result"
launch -v --sync "$code" -hosts node2 ./run
expect_status 0
expect_out "^node2 $code: two$"
expect_err "node2: brought 1 file of $code to "
expect_equal "what is there" "$(there "$code" | cut -d' ' -f1 | xargs)" '.gitignore link part/data result run'
on node1 sh -c "ls -A '$code' | grep dtlaunch" && fail "something of dtlaunch is left in the original"

# A folder that both hosts see, and one whose path a host cannot have.
mkdir "$work/shared"
launch -v --sync "$work/shared" -hosts node2 pwd
expect_status 0
expect_err "node2: sees the same $work/shared"
expect_equal "what is left in a shared folder" "$(ls -A "$work/shared")" ''
on node1 sh -c 'mount -t tmpfs none /mnt && mkdir /mnt/code && echo three >/mnt/code/data'
on node2 mount -t tmpfs -o ro none /mnt
launch --sync /mnt/code -hosts node1,node2 -ppn 1 sh -c 'echo "$(pwd) $(cat data)"'
expect_status 0
expect_out '^/mnt/code three$'
expect_out '^/run/root/.cache/dtlaunch/synced-code-[0-9a-f]{16} three$'

# Killed in the middle: the old files are untouched, and the next job brings the new ones.
# shellcheck disable=SC2016
on node1 sh -c 'cd "$1" && echo four >part/data && head -c 3000000 /dev/urandom >zz' change "$code"
arriving() { on node2 test -s "$code/.dtlaunch-sync/new/4"; }
gone() { on node2 test ! -e "$code/.dtlaunch-sync/new"; }
start_job --sync "$code" -hosts node2 ./run
wait_for 10 "the files to arrive" arriving
signal KILL "$launcher"
end_job
wait_for 10 "what had arrived to be removed" gone
expect_equal "the old file" "$(on node2 cat "$code/part/data")" two
start_job --sync "$code" -hosts node2 ./run
wait_for 10 "the files to arrive" arriving
on node2 pkill -9 -f receive-folder
end_job
expect_status 73
expect_err "node2: cannot bring $code: "
expect_equal "the old file" "$(on node2 cat "$code/part/data")" two
gone && fail "nothing is left of the killed sync, so the next has nothing to show"
# Two at once, which need the same files.
start_job --sync "$code" -hosts node2 --share-cores ./run
launch --sync "$code" -hosts node2 --share-cores ./run
expect_status 0
expect_out "^node2 $code: four$"
end_job
expect_status 0
on node2 cmp -s "$code/zz" - < <(on node1 cat "$code/zz") || fail "zz is not what was sent"
gone || fail "a finished sync left files that had arrived"

# An environment, and a host without its Python.
on node1 python3 -m venv --without-pip /tmp/env || skip "this python makes no environments"
launch --venv /tmp/env -hosts node1,node2 -ppn 1 python3 -c 'import os, sys; print(os.uname()[1], sys.prefix)'
expect_status 0
expect_count 2 '^node[12] /tmp/env$' "$work/out"
python=$(on node1 readlink -f /tmp/env/bin/python)
on node2 mount --bind /dev/null "$python"
launch --venv /tmp/env -hosts node1,node2 -ppn 1 python3 -c 1
expect_status 78
expect_err 'node2: cannot bring /tmp/env: .*: the environment needs Python [0-9.]+ there. Try: ssh node2 '
on node2 umount "$python"
expect_hosts_idle 10
