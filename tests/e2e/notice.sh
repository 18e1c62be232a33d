#!/usr/bin/env bash
# --spot and --notice-signal: notice that a host, or the whole job, will be ended. All ranks stop at
# the same step with one checkpoint, and the job continues without that host, or ends with 143. Fakes
# on the hosts' loopback devices play the clouds' metadata services at their real address.
. "$(dirname "$0")/lib.sh"
limit=150
need_program dttrain
need_cluster 3

service() { # HOST CLOUD
  on "$1" ip addr add 169.254.169.254/32 dev lo
  on "$1" "$e2e/fake_metadata.py" "$2" "$work/cloud.$1" >/dev/null 2>&1 &
  wait_for 20 "$1's metadata service" on "$1" sh -c "ss -H -ltn 'sport = 80' | grep -q ."
}
asked() { [ "$(grep -c "$2" "$work/cloud.$1/asked")" -ge "$3" ]; } # HOST WHAT TIMES
service node1 hangs
service node2 aws
service node3 gcp

# Each rank writes a line to $work/ranks at its start: EPOCH RANK WORLD_SIZE HOST.
cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
echo "${TORCHELASTIC_RESTART_COUNT:-0} $RANK $WORLD_SIZE $(uname -n)" >>"$1"
trap 'echo "$RANK stops" >>"$1.stopped"; exit 143' TERM
until [ -e "$1.end" ]; do sleep 0.05; done
RANK
chmod +x "$work/rank"
fresh() { rm -f "$work"/ranks* "$work"/cloud.*/notice "$work"/cloud.*/asked; touch "$work/ranks"; }
in_epoch() { awk -v epoch="$1" '$1 == epoch' "$work/ranks" | wc -l; }
ranks_run() { [ "$(in_epoch "$1")" = "$2" ]; } # EPOCH RANKS
hosts_of() { awk -v epoch="$1" '$1 == epoch { print $4 }' "$work/ranks" | sort -u | xargs; }

# ---- dttrain on three hosts; AWS takes one away, whose token expires meanwhile
fresh
on node1 sh -c "'$e2e/make_sentences' 400 1 >/tmp/train.tsv"
run "$cluster" exec node1 "$bin/dttrain" init --train_file /tmp/train.tsv --vocab_size 200 --hidden_size 64 \
  --num_hidden_layers 1 --num_attention_heads 2 --intermediate_size 128 --output_dir /tmp/model
expect_status 0
start_job -f "$work/hosts" -ppn 1 -genv OMP_NUM_THREADS=1 --nnodes 2:3 --spot aws --report "$work/report" \
  "$bin/dttrain" --model_name_or_path /tmp/model --train_file /tmp/train.tsv --do_train --max_steps 1000000 \
  --per_device_train_batch_size 4 --save_steps 1000000 --logging_steps 50 --output_dir /tmp/out
wait_for 60 "steps" on node1 sh -c 'grep -q "\"step\"" /tmp/out/metrics.jsonl'
wait_for 60 "another token of AWS" asked node2 '^PUT /latest/api/token$' 2
touch "$work/cloud.node2/notice"
wait_for 30 "the notice" grep -Eq '^dtlaunch: node2: has to go in 1[12][0-9] s \(aws: terminate\): stopping the ranks$' \
  "$work/err"
wait_for 60 "the second epoch" grep -q 'Continuing from /tmp/out/checkpoint-' "$work/out"
last=$(sed -n 's/.*told to stop by signal 15: saved after step \([0-9]*\).*/\1/p' "$work/err")
expect_out "Continuing from /tmp/out/checkpoint-$last, after step $last\$"
expect_equal "checkpoints" "$(on node1 sh -c 'ls /tmp/out' | grep '^checkpoint-')" "checkpoint-$last"
expect_err '^dtlaunch: going on with node1,node3$'
signal TERM "$launcher"
end_job
expect_status 143
expect_equal "ranks that went on from another step" "$(grep -c 'Continuing from' "$work/out")" 1
expect_err '^dtlaunch: node1: --spot aws: no metadata service of aws answers here; no notice comes from'
python3 - "$work/report" <<'CHECK' || fail "the report tells something else"
import json, sys
epochs = json.load(open(sys.argv[1]))["epochs"]
assert [e["world_size"] for e in epochs] == [3, 2], epochs
assert [e["cause"] for e in epochs] == ["notice", "interrupted"], epochs
assert sorted(epochs[1]["hosts"]) == ["node1", "node3"], epochs
CHECK

# ---- a spare host replaces it; the old host still answers but is not used again
fresh
start_job -f "$work/hosts" -np 2 -ppn 1 --max-restarts 1 --spot auto "$work/rank" "$work/ranks"
wait_for 30 "two ranks" ranks_run 0 2
touch "$work/cloud.node2/notice"
wait_for 30 "the second epoch" ranks_run 1 2
expect_equal "hosts of the second epoch" "$(hosts_of 1)" "node1 node3"
expect_equal "ranks that were asked to stop" "$(sort -u "$work/ranks.stopped" | xargs)" "0 stops 1 stops"
touch "$work/ranks.end"
end_job
expect_status 0

# ---- no host to continue on: 143, and a card with the source; a hanging service delays nobody
fresh
printf 'node1\nnode3\n' >"$work/two"
start_job -f "$work/two" -ppn 1 --spot gcp --grace 30 "$work/rank" "$work/ranks"
wait_for 30 "two ranks" ranks_run 0 2
touch "$work/cloud.node3/notice"
end_job
expect_status 143
expect_err '^dtlaunch: node3 has to go \(gcp: preempted\), and the ranks were stopped after [0-9.]* s$'
expect_equal "ranks that were asked to stop" "$(sort -u "$work/ranks.stopped" | xargs)" "0 stops 1 stops"
mark
fresh
start_job -f "$work/hosts" -ppn 1 -np 2 --max-restarts 1 --spot gcp "$work/rank" "$work/ranks"
wait_for 30 "two ranks" ranks_run 0 2
touch "$work/ranks.end"
end_job
expect_status 0

# ---- the remaining hosts are too few for the ranks: also 143
fresh
start_job -hosts node1:1,node3:1 -np 2 --max-restarts 2 --spot gcp "$work/rank" "$work/ranks"
wait_for 30 "two ranks" ranks_run 0 2
touch "$work/cloud.node3/notice"
end_job
expect_status 143
expect_err '^dtlaunch: not started again: its ranks do not fit what is left: -np 2: needs 1 more slot: 1 host offers 1$'
expect_no_err 'going on'

# ---- no queries unless requested; a signal is a notice if configured
fresh
start_job -f "$work/hosts" -ppn 1 --notice-signal USR1 --max-restarts 3 "$work/rank" "$work/ranks"
wait_for 30 "three ranks" ranks_run 0 3
signal USR1 "$launcher"
end_job
expect_status 143
expect_err "^dtlaunch: SIGUSR1: the job's time is nearly over: stopping the ranks\$"
expect_equal "ranks that were asked to stop" "$(sort -u "$work/ranks.stopped" | wc -l)" 3
expect_equal "epochs" "$(in_epoch 1)" 0
[ ! -e "$work/cloud.node2/asked" ] || fail "a metadata service was asked without --spot"
