#!/usr/bin/env bash
# ./dtlaunch.toml, or the file of -c, describes a job: program, arguments, environment, hosts. The
# command line overrides it. An unknown key is an error with file:line and the nearest known key.
. "$(dirname "$0")/lib.sh"
need_cluster 2

mkdir "$work/job"
cat >"$work/job/dtlaunch.toml" <<'TOML'
program = "sh"
arguments = ["-c", "echo rank $RANK on $DTLAUNCH_HOST says $GREETING"]
ranks = 2
ranks_per_node = 1

[environment]
GREETING = "good day"

[hosts]
file = "../hosts"
TOML
run "$cluster" exec node1 sh -c "cd '$work/job' && exec '$bin/dtlaunch'"
expect_status 0
expect_out '^rank 0 on node1 says good day$'
expect_out '^rank 1 on node2 says good day$'
expect_count 2 . "$work/out"

launch -c "$work/job/dtlaunch.toml" -np 4 -ppn 2 -genv GREETING hello
expect_status 0
expect_count 4 'says hello$' "$work/out"

sed -i 's/^ranks_per_node/ranks_per_nod/' "$work/job/dtlaunch.toml"
launch -c "$work/job/dtlaunch.toml"
expect_status 65
expect_err "^dtlaunch: .*dtlaunch\.toml:4.*'?ranks_per_nod'?.*ranks_per_node"
expect_count 0 . "$work/out"

cat >"$work/job/two.toml" <<'TOML'
deal = 1
inherit = "list:PATH"
hosts.file = "../hosts"
ranks_per_node = 2
[[programs]]
program = "sh"
arguments = ["-c", "echo first is $RANK of $WORLD_SIZE on $DTLAUNCH_HOST, home $HOME"]
[[programs]]
program = "sh"
arguments = ["-c", "echo $WHO is $RANK of $WORLD_SIZE on $DTLAUNCH_HOST"]
ranks = 2
environment = { WHO = "second" }
TOML
launch -c "$work/job/two.toml"
expect_status 0
expect_out '^first is 0 of 3 on node1, home$'
expect_out '^second is 1 of 3 on node2$'
expect_out '^second is 2 of 3 on node1$'

launch -c "$work/missing.toml"
expect_status 65
expect_err 'missing\.toml'
sed 's|\.\./hosts|nowhere|' "$work/job/two.toml" >"$work/job/lost.toml"
launch -c "$work/job/lost.toml"
expect_status 65
expect_err "^dtlaunch: $work/job/lost\.toml:3: hosts.file = \"nowhere\": cannot read: No such file"
launch -c "$work/job/lost.toml" -f "$work/nobody"
expect_err "^dtlaunch: $work/nobody: cannot read: "

# --dry-run lets dttrain check its settings, too.
printf '[trainer]\nmax_stepz = 3\n' >"$work/job/trainer.toml"
need_program dttrain
launch -c "$work/job/trainer.toml" --dry-run
expect_status 65
trainer=$work/job/trainer.toml
said="dtlaunch: $trainer:2:13: max_stepz = 3: no option has this name. Try: max_steps = 3"
[ "$(cat "$work/err")" = "$said" ] || fail "not: $said"
# Without it, the job does not start: the message appears once, and there is no failure card.
launch -c "$trainer"
expect_status 65
[ "$(cat "$work/err")" = "$said" ] || fail "not: $said"
printf '[trainer]\ndemo = true\n' >"$work/job/trainer.toml"
launch -c "$work/job/trainer.toml" --dry-run
expect_status 0
expect_out 'dttrain --demo$'
