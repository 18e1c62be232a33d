#!/usr/bin/env bash
# Every command of README.md, docs/*.md and the EXAMPLES of man/* works to the letter. documented.py reads them;
# documents.py says which part runs which document and which few commands cannot run here.
# usage: documents.sh PART|check
#
# The documents' setup exists here: hosts with their names and addresses, alice's account behind a second sshd,
# programs installed where the document says, a model that dttrain init made under a large one's name, and data
# sets of a few lines in their formats.
. "$(dirname "$0")/lib.sh"
part=${1:?a part, or check}
promise=documents-$part
if [ "$part" = check ]; then
  python3 -B "$e2e/documents.py" check
  exit
fi
limit=60
need_program dttrain dtring-perf
run "$bin/dtlaunch" -np 2 --dry-run true
[ "$status" = 0 ] || skip "the examples want two ranks on this machine: $(cat "$work/err")"
need_cluster 9
installed=("${hosts[@]}") # hosts with the programs
case $part in readme) installed=(node1) ;; bare) installed=(node9) ;; esac
home=/run/root programs=/run/dtlaunch/bin

# node1 to node8 have other names too; node9 is a laptop that none of them knows.
aliases=(node01:node1 node02:node2 n01:node4 n02:node5 n03:node6 n04:node7 10.0.0.1:node1 10.0.0.2:node2
  '[10.0.0.7]:2222:node8')

prepare_host() { # HOST
  # shellcheck disable=SC2016
  on "$1" bash -euc '
    case $1 in
      node1) ip addr add 10.0.0.1/24 dev eth0 ;;
      node2) ip addr add 10.0.0.2/24 dev eth0 ;;
      node8) ip addr add 10.0.0.7/24 dev eth0
             /usr/sbin/sshd -f /run/cluster/sshd_config -o PidFile=/run/second.pid -p 2222
             until [ -n "$(ss -Hltn sport = :2222)" ]; do sleep 0.01; done ;;
    esac
    echo "alice:x:12345:12345::/run/alice:/bin/bash" >>/etc/passwd
    echo "alice:*:19000:0:99999:7:::" >>/etc/shadow
    mkdir -p /run/alice
    cp -r ~/.ssh /run/alice/.ssh
    chown -R 12345:12345 /run/alice' prepare "$1" || fail "cannot prepare $1"
}

install_programs() { # HOST
  # shellcheck disable=SC2016
  on "$1" bash -euc '
    bin=$1 programs=$2
    mkdir -p "$programs"
    for name in dtlaunch dtagent dtguard dttrain dtring-perf; do
      cp "$bin/$name" "$programs"
    done
    echo "PATH=$programs:\$PATH" >~/.bashrc' install "$bin" "$programs" || fail "cannot install on $1"
}

name_aliases() {
  # shellcheck disable=SC2016
  on node1 bash -euc 'for entry; do
    name=${entry%:*} host=${entry##*:}
    key=$(grep "^$host," ~/.ssh/known_hosts | cut -d " " -f 2-)
    echo "$name $key" >>~/.ssh/known_hosts
    case $name in n*) echo "$(getent hosts "$host" | cut -d " " -f 1) $name" >>/etc/hosts ;; esac
  done' aliases "${aliases[@]}" || fail "cannot name hosts"
}

# A model with bert-base's name and files but weights of a few hundred kB; data in the documents' formats.
make_things() {
  local things=$work/things
  mkdir -p "$things/MRPC" "$things/glue_data"
  python3 -B "$e2e/make_things.py" "$things" "$e2e/make_sentences" || fail "no data"
  run "$bin/dttrain" init --train_file "$things/train.tsv" --vocab_size 300 --hidden_size 32 --num_hidden_layers 1 \
    --num_attention_heads 2 --intermediate_size 64 --max_seq_length 384 --output_dir "$things/model"
  expect_status 0
  cp -r "$things/model" "$things/bert-base-uncased"
  cp -r "$things/model" "$things/bert-base-cased"
  cp -r "$things/MRPC" "$things/glue_data/MRPC"
}

for host in "${hosts[@]}"; do
  prepare_host "$host"
done
for host in "${installed[@]}"; do
  install_programs "$host"
done
name_aliases
make_things
export DTL_CLUSTER_TOOL=$cluster DTL_PROGRAMS=$programs DTL_HOME=$home
python3 -B "$e2e/documents.py" "$part" "$work"
