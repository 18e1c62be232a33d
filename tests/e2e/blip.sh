#!/usr/bin/env bash
# A network loss of 4 s costs a running job one line of output: no rank ends, no output is lost.
. "$(dirname "$0")/lib.sh"
limit=60
need_cluster 2

cat >"$work/count" <<'RANK'
#!/usr/bin/env bash
# count FILE: a rank that writes lines "RANK 0", "RANK 1" ... until FILE exists.
for ((i = 0; ; i++)); do
  echo "$RANK $i"
  [ ! -e "$1" ] || exit 0
  sleep 0.1
done
RANK
chmod +x "$work/count"

lines_of() { grep -c "^$1 " "$work/out"; }
has_lines() { [ "$(lines_of "$1")" -ge "$2" ]; } # RANK N

start_job -f "$work/hosts" -np 2 -ppn 1 "$work/count" "$work/end"
wait_for 20 "output of rank 1" has_lines 1 1
"$cluster" cut node2
sleep 4
"$cluster" mend node2
# Output written meanwhile, and more after the reconnect.
wait_for 20 "what rank 1 wrote in the blip, and after it" has_lines 1 $(($(lines_of 0) + 10))
touch "$work/end"
end_job
expect_status 0
expect_err '^dtlaunch: node2: no sign of life for 3 s; the job goes on if one comes within 9 s$'
expect_equal "lines of dtlaunch" "$(wc -l <"$work/err")" 1
for rank in 0 1; do
  awk -v rank=$rank '$1 == rank && $2 != seen++ { exit 1 }' "$work/out" || fail "output of rank $rank has gaps"
done
expect_hosts_idle 5
