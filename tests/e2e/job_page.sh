#!/usr/bin/env bash
# --report FILE.html, and show --html for any job of the history, make a page about a job that has
# succeeded, failed, restarted or is lost: how it ended, what its ranks used. A browser shows it
# without faults on a phone and on a large screen, and nothing that ranks print becomes part of it.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
use_plain_path
unset DTL_HISTORY_DAYS XDG_STATE_HOME
export HOME=$work/home
pages=$work/pages
mkdir "$pages"
has() { grep -q -- "$2" "$pages/$1" || fail "$1 does not have '$2'"; }
lacks() { ! grep -q -- "$2" "$pages/$1" || fail "$1 has '$2'"; }

# Two ranks that compute and print until the file appears, then fail if told so.
cat >"$work/rank.py" <<'RANK'
import os, sys, time
end = time.monotonic() + 2.6
while time.monotonic() < end:
    sum(i * i for i in range(20000))
    print("x" * 1000, flush=True)
    time.sleep(0.01)
if sys.argv[1] == os.environ["RANK"]:
    sys.exit("<script>document.title = 'broken'</script>")
time.sleep(0 if sys.argv[1] == "none" else 20)
RANK
# A short time for hangs makes agents report often.
compute() { launch -np 2 --oversubscribe --hang-notice 2 "$@"; }

compute --tag nightly --report "$pages/failed.html" -genv HF_TOKEN=hunter2 python3 "$work/rank.py" 1
expect_status 1
expect_equal "the mode" "$(stat -c %a "$pages/failed.html")" 600
has failed.html '<p class="verdict bad">failed after [0-9.]* s: rank 1 on [^ ]* ended with status 1</p>'
has failed.html '<h2>How it failed</h2>'
has failed.html '&lt;script&gt;document.title'
has failed.html '<h2>CPU <small>cores</small></h2>'
has failed.html '<h2>Memory <small>MiB</small></h2>'
has failed.html '<h2>Output <small>kB/s</small></h2>'
has failed.html 'rank 1 (last: '
has failed.html '<dd>nightly</dd>'
lacks failed.html '<script'
lacks failed.html hunter2

# Later, from the history.
run "$bin/dtlaunch" show --html "$pages/again.html"
expect_status 0
[ ! -s "$work/out" ] && [ ! -s "$work/err" ] || fail "show --html prints something"
shown() { sed -n '/<h2>Time/,$p' "$pages/$1"; }
expect_equal "the page from the history" "$(shown again.html)" "$(shown failed.html)"

compute python3 "$work/rank.py" none
expect_status 0
run "$bin/dtlaunch" show --html "$pages/succeeded.htm"
expect_status 0
has succeeded.htm '<p class="verdict good">succeeded in '
lacks succeeded.htm 'How it failed'
run "$bin/dtlaunch" show --json
python3 - "$work/out" <<'CHECK' || fail "the report has no series: $(cat "$work/out")"
import json, sys
report = json.load(open(sys.argv[1]))["report"]
series = report["series"]
assert series["point_s"] == 1, series
for name in ("cpu_cores", "memory_mib", "output_kb_per_second"):
    assert set(series[name]) == {"0", "1"}, series
    for curve in series[name].values():
        known = [value for value in curve if value is not None]
        assert len(known) >= 2 and max(known) > 0 and len(curve) <= 240, (name, curve)
for rank in report["ranks"]:
    assert 0 < rank["cpu_s"] < 10 and rank["output_bytes"] % 1001 == 0 < rank["output_bytes"], rank
CHECK

launch -np 2 --oversubscribe --max-restarts 1 sh -c '[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit $RANK'
expect_status 0
run "$bin/dtlaunch" show --html "$pages/restarted.html"
has restarted.html 'epoch 0 ended: rank 1 on '
has restarted.html '<p>Curves of CPU and memory are missing'
lacks restarted.html '<h2>CPU'

# A job whose launcher was killed.
start_job -np 1 sleep 50
running() { run "$bin/dtlaunch" show && grep -q '^ranks' "$work/out"; }
wait_for 10 "the record of the running job" running
run "$bin/dtlaunch" show --html "$pages/running.html"
has running.html 'still runs'
signal KILL "$launcher"
end_job
run "$bin/dtlaunch" show --html "$pages/lost.html"
expect_status 0
has lost.html 'verdict bad">lost: its launcher was killed'
has lost.html 'has no report of this job'
has lost.html '<dd>sleep 50</dd>'

# As --report, it replaces a file as a whole, writes to devices, and refuses a folder.
run "$bin/dtlaunch" show --html /dev/stdout
cmp -s "$work/out" "$pages/lost.html" || fail "the page on standard output is another one"
run "$bin/dtlaunch" show --html "$work"
expect_status 73
run "$bin/dtlaunch" show --html "$work/none/page.html"
expect_status 73
run "$bin/dtlaunch" show --json --html "$work/page.html"
expect_status 64
[ ! -e "$work/page.html" ] || fail "a refused command has written its page"

python3 "$e2e/pages_in_browser.py" "$pages"/*.htm* >"$work/out" 2>&1 || fail "a browser finds faults"
cat "$work/out"
