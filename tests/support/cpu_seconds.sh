# shellcheck shell=bash
# CPU time of all processes of this machine, including daemons: user, nice, system, interrupts.
cpu_seconds() { awk '$1 == "cpu" { printf "%d", ($2 + $3 + $4 + $7 + $8) / '"$(getconf CLK_TCK)"' }' /proc/stat; }
