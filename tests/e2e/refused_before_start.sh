#!/usr/bin/env bash
# Every option with an invalid value is refused before anything starts: no rank runs, and a report
# lists no process.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch

# wrong OPTION VALUE...: values that it must refuse. Options that take any text are not listed.
declare -A wrong=(
  [hostfile]=/no/such/hosts [hosts]=a,,b:0 [nnodes]=3 [discover]=true [np]=0 [ppn]=0 [grr]=0 [rankmap]=0,x
  [iface]=nosuch0 [port-range]=9:1 [launcher]=slurm [config]=/no/such.toml [genv]=1A=x [env]==x
  [genvlist]='A B' [envlist]=A=B [x]==1 [compat]=nosuch [preload]=nosuch [configfile]=/no/such [container]=--privileged
  [bind-to]=nosuch [map-by]=nosuch [membind]=nosuch [binding]=nosuch=1 [comm-cores]=-1 [umask]=0888
  [prepend-pattern]=%q [only]=7 [color]=green [output]=nosuch [outfile-pattern]=%q
  [errfile-pattern]=%q [stdin]=5 [report]=/no/such/folder/r [timeout]=0 [grace]=x [reconnect]=90000 [max-restarts]=-1
  [spares]=1 [completion]=csh [scheduler]=nosuch [hang-notice]=-1 [hang-timeout]=0 [start-timeout]=0
  [metrics-file]=/no/such/folder/m [history-days]=-1 [history-size]=x [pmi]=nosuch [spot]=nosuch [notice-signal]=KILL [tree]=1 [tag]='a b' [sync]=/no/such [venv]=/no/such
)
any_text=' wdir gwdir m log-dir on-event wait ' # any word but a number is the program after --wait

checked=0
refuse() { # OPTION...
  rm -f "$work/report"
  launch --report "$work/report" "$@" touch "$work/started"
  case $status in
    64 | 65 | 73 | 78) ;;
    *) fail "$* ended with $status" ;;
  esac
  [ ! -e "$work/started" ] || fail "$*: a rank ran"
  ! grep -Eq '"pid": *[0-9]' "$work/report" 2>/dev/null || fail "$*: a process was spawned"
  ((++checked))
}
for option in "${!wrong[@]}"; do
  if [ "$option" = report ]; then
    launch --report "${wrong[report]}" touch "$work/started"
    expect_status 73
    [ ! -e "$work/started" ] || fail "--report: a rank ran"
  else
    refuse "-$option" "${wrong[$option]}"
  fi
done
refuse -np 2 -np 3
refuse --nnodes 2:3
refuse --nnodes 1:2 -np 2
refuse -np 1:2 --nnodes 1:2
refuse --discover "echo localhost" -hosts localhost
refuse -fold -no-fold
refuse -hosts a -hostfile b
refuse -nosuchoption
refuse --wait=x
refuse --wait=-1
refuse --wait=0

# Each option of --help-all with a value must be listed, or take any text.
while read -r name; do
  [ -n "${wrong[$name]-}" ] || [[ $any_text == *" $name "* ]] || fail "-$name is not tried with a wrong value"
done < <("$bin/dtlaunch" --help-all | sed -n 's/^  \(-.*\)/\1/p' | sed 's/  .*//; s/.*, -/-/; s/^-*//' |
  awk 'NF > 1 { print $1 }')
echo "$checked command lines were refused"
