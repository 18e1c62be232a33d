#!/usr/bin/env bash
# The example of dtlaunch-slurm(7) works to the letter: its batch script and each command. So does README's
# Slurm job.
. "$(dirname "$0")/lib.sh"
limit=100
need_program dttrain
need_slurm 2

folder=$slurm_folder/example programs=$slurm_folder/bin
mkdir "$folder" "$programs"
ln -s "$bin"/dt* "$programs"
"$e2e/make_sentences" 200 1 >"$folder/train.tsv"
mkdir -p "$work/things/MRPC"
python3 -B "$e2e/make_things.py" "$work/things" "$e2e/make_sentences" && cp "$work/things/train.py" "$folder" || fail "no train.py"
run "$bin/dttrain" init --train_file "$folder/train.tsv" --vocab_size 200 --hidden_size 32 --num_hidden_layers 1 \
  --num_attention_heads 2 --intermediate_size 64 --output_dir "$folder/model"
expect_status 0

python3 -B - "$e2e" "$folder" >"$work/commands" <<'READ' || fail "the page has no example that can be read"
import sys
sys.path.insert(0, sys.argv[1])
from documented import items_of
items = items_of("man/dtlaunch-slurm.7")
for item in items:
    if item.kind == "file":
        name, _, text = item.text.partition("\n")
        with open(sys.argv[2] + "/" + name.removeprefix("# "), "w") as file:
            file.write(text)
    else:
        print(item.text)
jobs = [item.text for item in items_of("README.md") if item.text.startswith("sbatch ")]
assert len(jobs) == 1, jobs
print(jobs[0])
assert [item.kind for item in items].count("file") == 1 and len(items) >= 5, items
READ
count=0
while IFS= read -r line <&3; do
  count=$((count + 1))
  run "$cluster" exec login env -C "$folder" "PATH=$programs:$PATH" bash -c "$line"
  [ "$status" = 0 ] || fail "status $status of: $line; $(cat "$folder/train.log")"
  case $line in
    *"dtlaunch up"*) expect_equal "hosts of: $line" "$(sort "$work/out" | xargs)" "node1 node1 node1 node2 node2 node2" ;;
    *srun*hostname) expect_equal "hosts of: $line" "$(sort "$work/out" | xargs)" "node1 node2" ;;
    *hostname) expect_equal "hosts of: $line" "$(sort "$work/out" | xargs)" "node1 node1 node2 node2" ;;
    *--show-scheduler) expect_out '^scheduler +slurm, job ' ;;
    *doctor*) expect_out 'slurm' ;;
    *--wrap*) grep -q '^rank 3 of 4 met the others' "$folder"/slurm-*.out || fail "$(cat "$folder"/slurm-*.out)" ;;
  esac
  echo "$took_ms ms: $line"
done 3<"$work/commands"
[ $count -ge 4 ] || fail "the page has only $count commands"
expect_nodes_empty 10
