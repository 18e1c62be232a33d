# shellcheck shell=bash
# The CPU time of all processes of this machine, daemons' and what runs beside: user, nice, system, interrupts.
cpu_seconds() { awk '$1 == "cpu" { printf "%d", ($2 + $3 + $4 + $7 + $8) / '"$(getconf CLK_TCK)"' }' /proc/stat; }
