#!/usr/bin/env bash
# One line at the start of a job lists hosts without the virtual environment, and hosts whose
# python3 has another version than here. The job runs as usual; no Python is started for this.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# Folders below /tmp are private to each host. This Python leaves a trace if it is started.
fake_python() { # HOST VERSION
  # shellcheck disable=SC2016
  on "$1" sh -c 'mkdir -p /tmp/pythons && cd /tmp/pythons && printf "#!/bin/sh\ntouch /tmp/started\n" >python$1 &&
    chmod +x python$1 && ln -s python$1 python3' sh "$2"
}
on node1 mkdir -p /tmp/venv
fake_python node1 3.11
fake_python node2 3.9
launch_python() { # OPTIONS and PROGRAM...
  launch -f "$work/hosts" -np 2 -ppn 1 -genv PATH "/tmp/pythons:$PATH" "$@"
}

launch_python -genv VIRTUAL_ENV /tmp/venv echo done
expect_status 0
expect_count 1 "^dtlaunch: the hosts' Python differs: /tmp/venv \(VIRTUAL_ENV\) is missing on node2\$" "$work/err"
for host in node1 node2; do on $host test ! -e /tmp/started || fail "a Python was started on $host"; done

launch_python python3 train.py
expect_status 0
expect_count 1 "^dtlaunch: the hosts' Python differs: python3 is Python 3\.11 here and 3\.9 on node2\$" "$work/err"

printf '#!/usr/bin/env python3\n' >"$work/script"
chmod +x "$work/script"
launch_python -genv CONDA_PREFIX /tmp/venv "$work/script"
expect_status 0
expect_count 1 "differs: /tmp/venv \(CONDA_PREFIX\) is missing on node2; python3 is Python 3\.11 here and 3\.9 on node2\$" "$work/err"

# The same everywhere, or no Python: no line.
on node2 mkdir -p /tmp/venv
launch_python -genv VIRTUAL_ENV /tmp/venv echo done
expect_status 0
expect_no_err 'Python'
