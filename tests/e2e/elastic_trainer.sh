#!/usr/bin/env bash
# dttrain on three hosts, then two, then three again: it keeps its initial batch and resumes from
# its own checkpoints. Losses are within 1e-5 of an undisturbed run. Every step is logged: a row is
# the mean since the previous row, and a stop begins a new row.
. "$(dirname "$0")/lib.sh"
limit=280
need_program dttrain
need_cluster 3 --rate 200mbit # steps wait for the network and leave CPUs to others

on node1 sh -c "'$e2e/make_sentences' 2000 1 >/tmp/train.tsv"
run "$cluster" exec node1 "$bin/dttrain" init --train_file /tmp/train.tsv --vocab_size 200 \
  --hidden_size 128 --num_hidden_layers 2 --num_attention_heads 2 --intermediate_size 256 \
  --output_dir /tmp/model
expect_status 0

begin() { # FOLDER OPTION...
  local folder=$1
  shift
  start_job -f "$work/hosts" -ppn 1 -genv OMP_NUM_THREADS=1 -genv DTRING_VERBOSE=1 "$@" "$bin/dttrain" \
    --model_name_or_path /tmp/model --train_file /tmp/train.tsv --do_train --max_steps 100000 \
    --per_device_train_batch_size 10 --gradient_accumulation_steps 2 --learning_rate 1e-4 \
    --save_steps 20 --save_total_limit 2 --logging_steps 1 --output_dir "$folder"
}
steps() { # FOLDER: logged
  on node1 sh -c "grep -o '\"step\": *[0-9]*' $1/metrics.jsonl | tail -n 1 | grep -o '[0-9]*\$'"
}
has_steps() { [ "$(steps "$1")" -ge "$2" ]; }
has_checkpoint() { on node1 sh -c "ls $1 | grep -q '^checkpoint-[0-9]*\$'"; }

begin /tmp/elastic --nnodes 2:3 --report "$work/report"
wait_for 60 "a checkpoint" has_checkpoint /tmp/elastic
"$cluster" cut node3
wait_for 60 "the second epoch" grep -q '^dtlaunch: restart 1 of 3 on node1,node2' "$work/err"
"$cluster" mend node3
wait_for 90 "the third epoch" grep -q '^dtlaunch: going on with node1,node2,node3' "$work/err"
wait_for 30 "its checkpoint" grep -Eq 'told to stop by signal 15: saved after step' "$work/err"
last=$(sed -n 's/.*saved after step \([0-9]*\).*/\1/p' "$work/err")
wait_for 60 "steps of the third epoch" has_steps /tmp/elastic $((last + 30))
signal TERM "$launcher"
end_job
expect_status 143
expect_equal "continued runs" "$(grep -c 'Continuing from /tmp/elastic/checkpoint-' "$work/out")" 2
expect_out "Continuing from /tmp/elastic/checkpoint-$last, after step $last\$"
expect_equal "batches" "$(grep -o 'Total train batch size.*' "$work/out" | sort -u)" \
  "Total train batch size (all ranks, with accumulation) = 60"
python3 - "$work/report" <<'CHECK' || fail "the report tells something else"
import json, sys
epochs = json.load(open(sys.argv[1]))["epochs"]
assert [e["world_size"] for e in epochs] == [3, 2, 3], epochs
CHECK

# Measured algorithms may differ from run to run, and with them the bits of sums.
expect_err '^dtring: 3 ranks on 3 hosts, .* \(as given\)$'
! grep -q '^dtring: .*(measured)$' "$work/err" || fail "dttrain has libdtring measure algorithms"

begin /tmp/whole -np 3
wait_for 120 "as many steps" has_steps /tmp/whole $((last + 30))
signal TERM "$launcher"
end_job
expect_status 143
for run in elastic whole; do on node1 cat "/tmp/$run/metrics.jsonl" >"$work/$run"; done
python3 - "$work/elastic" "$work/whole" "$last" <<'CHECK' || fail "the losses differ"
import json, sys
def losses(path):
    rows = [json.loads(line) for line in open(path)]
    return {row["step"]: row["loss"] for row in rows if "loss" in row and "step" in row}
elastic, whole, last = losses(sys.argv[1]), losses(sys.argv[2]), int(sys.argv[3])
both = sorted(set(elastic) & set(whole))
assert both == list(range(1, both[-1] + 1)) and both[-1] >= last + 30, both
worst = max(abs(elastic[s] - whole[s]) for s in both)
print(f"largest difference of {len(both)} losses, up to step {both[-1]}: {worst:.2g}")
assert worst <= 1e-5, worst
CHECK
