#!/usr/bin/env bash
# --metrics-file is always a whole file in both text formats, follows the job's state, and ends with its status. The
# job does not depend on it.
. "$(dirname "$0")/lib.sh"
file=$work/metrics/job.prom
mkdir "$work/metrics"
has() { # PATTERN: in the samples of the file
  python3 "$e2e/metrics_grammar.py" "$file" >"$work/samples" && grep -qE "$1" "$work/samples"
}
cat >"$work/rank" <<'RANK'
#!/bin/sh
until [ -e "$1" ]; do sleep 0.1; done
exit 3
RANK
chmod +x "$work/rank"

start_job -np 2 --oversubscribe --tag 'run=7' --metrics-file "$file" "$work/rank" "$work/go"
wait_for 20 "the state running" has 'state="running"} 1$'
has '^dtlaunch_job_ranks\{job="[0-9a-f]{16}"\} 2$' || fail "no number of ranks: $(cat "$work/samples")"
has '^dtlaunch_job_claimed_cores\{.*\} [1-9]' || fail "no claimed cores: $(cat "$work/samples")"
has '^dtlaunch_job_info\{.*,tags="run=7",' || fail "no tags: $(cat "$work/samples")"
has exit_status && fail "an exit status before the end"
[ "$(stat -c %a "$file")" = "$(printf '%o' $((0666 & ~$(umask))))" ] || fail "another user's collector cannot read it"
before=$(grep duration_seconds "$work/samples")
later() { has duration_seconds && [ "$(grep duration_seconds "$work/samples")" != "$before" ]; }
wait_for 20 "a later time" later
touch "$work/go"
end_job
expect_status 3
has '^dtlaunch_job_exit_status\{job="[0-9a-f]{16}"\} 3$' || fail "no exit status: $(cat "$work/samples")"
has 'state="ended"} 1$' || fail "the state is not ended: $(cat "$work/samples")"
[ "$(ls -A "$work/metrics")" = job.prom ] || fail "more is left than the file: $(ls -A "$work/metrics")"

# What ranks tell of their training.
cat >"$work/training.py" <<'RANK'
import ctypes, os, sys, time
tell = ctypes.CDLL(sys.argv[1]).dt_progress
tell.argtypes = [ctypes.c_uint64] * 3 + [ctypes.c_double]
step = 0
while not os.path.exists(sys.argv[2]):
    step += 1
    tell(step, 0, step * 100, 0.5)
    time.sleep(0.01)
RANK
rm "$work/go"
start_job -np 1 --metrics-file "$file" python3 "$work/training.py" "$(dirname "$bin")/ring/libdtring.so.2" "$work/go"
wait_for 30 "the step's time" has '^dtlaunch_job_training_step_seconds\{.*\} 0\.[0-9]*[1-9]'
has '^dtlaunch_job_training_step\{.*\} [1-9]' || fail "no step: $(cat "$work/samples")"
has '^dtlaunch_job_training_loss\{.*\} 0\.5$' || fail "no loss: $(cat "$work/samples")"
has '^dtlaunch_job_training_tokens_per_second\{.*\} [1-9]' || fail "no tokens: $(cat "$work/samples")"
touch "$work/go"
end_job
expect_status 0

# Restarts, and a folder that disappears meanwhile: one notice, and the job goes on.
launch -np 1 --max-restarts 1 --metrics-file "$file" sh -c "rm -rf '$work/metrics'; [ \$TORCHELASTIC_RESTART_COUNT = 1 ]"
expect_status 0
expect_count 1 'job\.prom: ' "$work/err"
launch -np 1 --metrics-file "$work/none/job.prom" true
expect_status 73
launch -np 1 --dry-run --metrics-file "$work/job.prom" true
expect_status 0
[ ! -e "$work/job.prom" ] || fail "--dry-run has written metrics"
launch -np 1 --metrics-file "$work/one" --report "$work/one" true
expect_status 64
expect_err '^dtlaunch: --metrics-file .*: it is the file of --report\. Try: '
