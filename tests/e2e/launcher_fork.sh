#!/usr/bin/env bash
# -launcher fork, and HYDRA_LAUNCHER, run all hosts on this machine without ssh, whatever the names;
# they are then one node. Another launcher's start method is refused on the command line, and ignored
# with a notice in a variable. --port-range limits MASTER_PORT.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
use_plain_path

# These hosts do not exist; resolving their names would take long and fail.
# shellcheck disable=SC2016
show='echo "$RANK of $WORLD_SIZE: $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $GROUP_RANK of $GROUP_WORLD_SIZE, $MASTER_ADDR"'
for fork in '-launcher fork' '-bootstrap fork' '--launcher=Fork'; do
  # shellcheck disable=SC2086
  launch $fork -hosts far1.invalid:2,far2.invalid:1 sh -c "$show"
  expect_status 0
  expect_within 5000
  for rank in 0 1 2; do expect_out "^$rank of 3: $rank of 3, node 0 of 1, 127\.0\.0\.1$"; done
  expect_err 'far1\.invalid and far2\.invalid are the same machine'
done
run env HYDRA_LAUNCHER=fork "$bin/dtlaunch" -hosts far1.invalid:2 sh -c "$show"
expect_status 0
expect_count 2 . "$work/out"
run env I_MPI_HYDRA_BOOTSTRAP=fork "$bin/dtlaunch" -launcher ssh -hosts far1.invalid:2 sh -c "$show"
expect_status 69
expect_err 'far1\.invalid'

# Other start methods.
launch -launcher slurm -np 1 true
expect_status 64
expect_err '^dtlaunch: -launcher slurm: .* srun is the default in jobs of Slurm. Try: -launcher srun$'
launch -launcher rsh -np 1 true
expect_status 64
expect_err 'Try: -launcher ssh'
launch -launcher-exec /usr/bin/plink -np 1 true
expect_status 64
expect_err 'runs no other program.*ProxyCommand'
launch -launcher-exec /usr/bin/ssh -np 1 true
expect_status 0
run env HYDRA_LAUNCHER=slurm HYDRA_LAUNCHER_EXEC=/etc/mpi/kubexec.sh OMPI_MCA_plm_rsh_agent=x \
  OMPI_MCA_coll_hcoll_enable=0 OMPI_MCA_unheard_of=1 "$bin/dtlaunch" -np 1 sh -c 'echo ran'
expect_status 0
expect_out '^ran$'
expect_err 'HYDRA_LAUNCHER=slurm: left out'
expect_err 'HYDRA_LAUNCHER_EXEC=/etc/mpi/kubexec.sh: left out'
expect_err 'OMPI_MCA_plm_rsh_agent=x: left out'
expect_no_err hcoll
run env MPIEXEC_TIMEOUT=soon "$bin/dtlaunch" -np 1 true
expect_status 64
expect_err "MPIEXEC_TIMEOUT=soon: .*not a number of seconds"

# Ports.
# shellcheck disable=SC2016
launch --port-range 25000:25003 -np 1 sh -c 'echo "$MASTER_PORT"'
expect_status 0
expect_out '^2500[0-3]$'
# shellcheck disable=SC2016
run env MPIEXEC_PORT_RANGE=25004:25007 "$bin/dtlaunch" -np 1 sh -c 'echo "$MASTER_PORT"'
expect_out '^2500[4-7]$'
launch --port-range 25007:25004 -np 1 true
expect_status 64
expect_err 'the range begins above its end\. Try: --port-range 25004:25007$'
launch --port-range 25000:25001 --tree 2 -hosts host1,host2,host3 -np 3 true
expect_status 64
expect_err 'too few: with --tree, each host needs 3 ports\. Try: --port-range 25000:25002$'
python3 -c '
import socket, subprocess, sys
held = [socket.socket() for _ in range(2)]
for i, each in enumerate(held):
    each.bind(("0.0.0.0", 25010 + i))
    each.listen()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
' "$bin/dtlaunch" --port-range 25010:25011 -np 1 true >"$work/out" 2>"$work/err" </dev/null
expect_equal "status where no port is free" $? 71
expect_err '--port-range 25010:25011: no TCP port is free\. Try: ss -tln'
