#!/usr/bin/env bash
# dtlaunch as the launcher of an MPIJob: both formats of the hostfile; a key that a Secret mounts
# read-only, for a user who is not root, in each mode, wherever it is mounted. It waits for late workers,
# with a line every 10 s, and refuses workers whose host key is not the job's.
. "$(dirname "$0")/lib.sh"
use_open_paths # for pods of other users
need_cluster 3
limit=60
user=12345 home=/run/pod elsewhere=/opt/mpi-keys
as=(setpriv --reuid "$user" --regid "$user" --clear-groups env -i "PATH=$PATH" "HOME=$home")
names=(dtl-worker-0.dtl.ns1.svc dtl-worker-1.dtl.ns1.svc) # of node2 and node3

# As the operator makes it: a P-521 key under RSA's name.
secret=$work/secret
mkdir "$secret"
ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$secret/id_rsa"
cp "$secret/id_rsa.pub" "$secret/authorized_keys"
ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$work/other"
chmod 644 "$work/other"

# As the kubelet mounts it: root's files behind links, readable for a group or for all.
mount_secret() { # HOST FOLDER MODE
  # shellcheck disable=SC2016
  on "$1" bash -euc 'secret=$1 folder=$2
    mkdir -p "$folder"
    mount -t tmpfs -o mode=755 secret "$folder"
    mkdir "$folder/..2026"
    cp "$secret"/* "$folder/..2026"
    chown -R "root:$4" "$folder/..2026"
    chmod "$3" "$folder/..2026"/*
    ln -s ..2026 "$folder/..data"
    for name in id_rsa id_rsa.pub authorized_keys; do ln -s "..data/$name" "$folder/$name"; done
    mount -o remount,ro "$folder"' mount "$secret" "$2" "$3" "$user" || fail "cannot mount on $1"
}
remount_secret() { # HOST FOLDER MODE [FORMER FOLDER]
  on "$1" umount "${4-$2}"
  mount_secret "$1" "$2" "$3"
}

for host in "${hosts[@]}"; do
  # shellcheck disable=SC2016
  on "$host" bash -euc 'echo "pod:x:$1:$1::$2:/bin/bash" >>/etc/passwd
    echo "pod:*:19000:0:99999:7:::" >>/etc/shadow
    mkdir -p "$2" /etc/mpi
    chown "$1:$1" "$2"' user "$user" "$home" || fail "no user on $host"
  mount_secret "$host" "$home/.ssh" 644
done
for index in 0 1; do echo "${names[$index]}:2"; done | on node1 sh -c 'cat >/etc/mpi/hostfile'
printf '#!/bin/sh\necho %s\ntouch %s\n' "${names[0]}" "$work/executed" |
  on node1 sh -c 'cat >/etc/mpi/discover_hosts.sh; chmod 555 /etc/mpi/discover_hosts.sh'

sshd() { # HOST [COMMAND]: a worker's
  local host=$1 command=("${@:2}")
  [ $# -gt 1 ] || command=("$pod_sshd")
  : >"$work/sshd.$host"
  on "$host" "${as[@]}" K_MPI_JOB_ROLE=worker "${command[@]}" >"$work/sshd.$host" 2>&1 </dev/null &
  wait_for 10 "an sshd on $host; $(cat "$work/sshd.$host")" on "$host" \
    sh -c "ss -H -ltn 'sport = 2222' | grep -q ."
}
no_sshd() { # HOST
  on "$1" pkill -u "$user" -x sshd
  wait_for 10 "no sshd on $1" on "$1" sh -c "! ss -H -ltn 'sport = 2222' | grep -q ."
}
resolves() { on node1 sh -c "echo '$1' '$2' >>/etc/hosts"; } # ADDRESS NAME
launcher_pod() { "$1" "${as[@]}" K_MPI_JOB_ROLE=launcher "${@:2}"; } # start_command, or run on the launcher
run_on_launcher() { run "$cluster" exec node1 "$@"; }
ranks_of() { grep -c "^rank $1 of 4 on $2\$" "$work/out"; }
expect_four_ranks() {
  local rank
  for rank in 0 1; do expect_equal "rank $rank of node2" "$(ranks_of $rank node2)" 1; done
  for rank in 2 3; do expect_equal "rank $rank of node3" "$(ranks_of $rank node3)" 1; done
}
# shellcheck disable=SC2016
say='echo "rank $RANK of $WORLD_SIZE on $(uname -n)"'

# ---- the launcher comes first; names, then sshds follow
launcher_pod start_command HYDRA_HOST_FILE=/etc/mpi/hostfile HYDRA_LAUNCH_EXTRA_ARGS='-o ConnectionAttempts=10' \
  "$bin/dtlaunch" sh -c "$say"
wait_for 20 "a line that says who is late" grep -q 'waiting for' "$work/err"
expect_err "^dtlaunch: waiting for 2 hosts since 1[0-2] s: ${names[0]}, ${names[1]} \(cannot resolve its name: "
resolves 10.77.0.2 "${names[0]}"
resolves 10.77.0.3 "${names[1]}"
sshd node3
sshd node2
mark
end_job
expect_status 0
expect_four_ranks
expect_count 1 'waiting for' "$work/err"
echo "from the last sshd to the end of the job: $took_ms ms"
expect_within 5000

# ---- Open MPI's format of the list, and a group-readable key
for host in "${hosts[@]}"; do remount_secret "$host" "$home/.ssh" 640; done
for index in 0 1; do echo "${names[$index]} slots=2"; done | on node1 sh -c 'cat >/etc/mpi/hostfile'
launcher_pod run_on_launcher OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true \
  OMPI_MCA_plm_rsh_args='-o ConnectionAttempts=10' OMPI_MCA_orte_set_default_slots=2 "$bin/dtlaunch" sh -c "$say"
expect_status 0
expect_four_ranks
expect_no_err .

# ---- mounted elsewhere: found by its files, or named
remount_secret node1 "$elsewhere" 644 "$home/.ssh"
launcher_pod run_on_launcher "$bin/dtlaunch" sh -c "$say"
expect_status 0
expect_four_ranks
launcher_pod run_on_launcher "$bin/dtlaunch" --show-scheduler
expect_out "ssh by the key of $elsewhere, which every pod shows as its own"
expect_out 'discover_hosts.sh says that 1 of 2 hosts run'
launcher_pod run_on_launcher DTL_SSH_KEYS=/nowhere "$bin/dtlaunch" true
expect_status 78
expect_err 'DTL_SSH_KEYS=/nowhere: id_rsa and id_rsa.pub cannot be read there'

# ---- another host key is refused, though known_hosts has it
no_sshd node3
on node3 cp "$work/other" "$home/other"
on node3 sh -c "chown $user $home/other; chmod 600 $home/other"
sshd node3 /usr/sbin/sshd -D -e -f /dev/null -h "$home/other" -p 2222 -o PidFile=none -o StrictModes=no
on node1 sh -c "echo '[${names[1]}]:2222 $(cat "$work/other.pub")' >/etc/ssh/ssh_known_hosts"
launcher_pod run_on_launcher "$bin/dtlaunch" true
expect_status 77
expect_err "${names[1]}: cannot start agent: its host key is SHA256:[^ ]+, and not the SHA256:[^ ]+ of $elsewhere/id_rsa.pub"
expect_within 10000
no_sshd node3

# ---- a worker that refuses the login is named, with where its sshd says why
# shellcheck disable=SC2016
on node3 "${as[@]}" sh -c 'mkdir "$HOME/refusing" && cp "$HOME/.ssh/id_rsa" "$HOME/refusing/" && cat >"$HOME/refusing/authorized_keys"' \
  <"$work/other.pub" || fail "cannot copy the keys"
sshd node3 env DTL_SSH_KEYS="$home/refusing" "$pod_sshd"
launcher_pod run_on_launcher "$bin/dtlaunch" true
expect_status 77
expect_err "^dtlaunch: ${names[1]}: cannot start agent: Permission denied .*Try: kubectl -n ns1 logs dtl-worker-1\$"
no_sshd node3

# ---- a worker that never comes is named, with a hint; the operator's list is read and not run
launcher_pod run_on_launcher "$bin/dtlaunch" --start-timeout 2 true
expect_status 69
expect_err "^dtlaunch: ${names[1]}: cannot connect to 10.77.0.3:2222: Connection refused, [23] s after the first try; /etc/mpi/discover_hosts.sh does not list it as running. Try: kubectl -n ns1 describe pod dtl-worker-1"
expect_no_err 'start-timeout is ignored'
[ ! -e "$work/executed" ] || fail "discover_hosts.sh has been run"

# ---- SIGTERM ends the wait
launcher_pod start_command "$bin/dtlaunch" true
agent_is_up() { pids_of node2 dtagent >/dev/null; }
wait_for 20 "the agent of the worker that is there" agent_is_up
mark
signal TERM "$launcher"
end_job
expect_status 143
expect_within 3000
no_sshd node2
expect_hosts_idle 10
