#!/usr/bin/env bash
# In a TrainJob's pod, dtlaunch posts the progress that ranks tell to the server of Kubeflow's variables: over TLS that
# it checks, with the token's file as it is then, which nothing shows. The job does not depend on it.
. "$(dirname "$0")/lib.sh"
command -v openssl >/dev/null || skip "openssl is not installed"
cd "$work" || fail "cannot enter $work"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.crt -days 2 \
  -subj /CN=ca >openssl.log 2>&1 || skip "openssl makes no certificate: $(tail -n 1 openssl.log)"
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout server.key -out server.csr -subj /CN=server \
  >openssl.log 2>&1 || fail "no request: $(cat openssl.log)"
echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' >names
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt \
  >openssl.log 2>&1 || fail "no certificate: $(cat openssl.log)"
mkdir server
python3 "$e2e/trainjob_server.py" "$work/server" server.crt server.key 2>server.err &
server=$!
trap 'rc=$?; kill "$server"; finish $rc' EXIT
wait_for 20 "the server" test -s server/port
port=$(cat server/port)

cat >training.py <<'RANK'
import ctypes, os, sys, time
library, go, steps, status = sys.argv[1:]
tell = ctypes.CDLL(library).dt_progress
tell.argtypes = [ctypes.c_uint64] * 3 + [ctypes.c_double]
for step in range(1, int(steps) + 1):
    tell(step, 40, step * 100, 0.25)
while not os.path.exists(go):
    time.sleep(0.02)
sys.exit(int(status))
RANK
training=(python3 training.py "$(dirname "$bin")/ring/libdtring.so.2" "$work/go")
posts() { [ "$(wc -l <server/posts)" -ge "$1" ]; }
told() { # N EXPRESSION of p, the Nth post
  python3 - "$1" "$2" <<'POST' || fail "post $1 is not $2: $(cat server/posts)"
import json, sys
p = [json.loads(line) for line in open("server/posts")][int(sys.argv[1]) - 1]
s = p["body"]["trainerStatus"]
m = {each["name"]: each["value"] for each in s["metrics"]}
sys.exit(0 if eval(sys.argv[2]) else 1)
POST
}
export KUBEFLOW_TRAINER_SERVER_URL=https://localhost:$port/jobs/bert/status
export KUBEFLOW_TRAINER_SERVER_TOKEN=$work/token KUBEFLOW_TRAINER_SERVER_CA_CERT=$work/ca.crt
export https_proxy=http://127.0.0.1:1 # proxies are not asked

# One post within 5 seconds, and the last at the end, each with the token of its time.
echo first-token >token
start_job -vv -np 2 --oversubscribe --report "$work/report.json" "${training[@]}" 40 0
wait_for 20 "the first post" posts 1
echo second-token >token
touch go
end_job
expect_status 0
expect_count 2 . server/posts
told 1 'p["path"] == "/jobs/bert/status" and p["type"] == "application/json" and p["token"] == "Bearer first-token"'
told 1 's["progressPercentage"] == 99 and m["loss"] == "0.25" and m["current_step"] == "40" and m["total_steps"] == "40"'
told 1 's["lastUpdatedTime"].endswith("Z") and len(s["lastUpdatedTime"]) == 20'
told 2 's["progressPercentage"] == 100 and s["estimatedRemainingSeconds"] == 0 and p["token"] == "Bearer second-token"'
! grep -e 'first-token' -e 'second-token' out err report.json || fail "the token is shown"
expect_no_err 'TrainJob'

# A job that fails is not complete. The address has a certificate, too.
rm go server/posts
KUBEFLOW_TRAINER_SERVER_URL=https://127.0.0.1:$port start_job -np 1 "${training[@]}" 10 3
wait_for 20 "the first post of the second job" posts 1
touch go
end_job
expect_status 3
told 2 's["progressPercentage"] == 25 and "estimatedRemainingSeconds" not in s'

# Servers that refuse, or that another authority has certified: one line, and the job's own status.
refused() { # PATTERN: after "cannot post the TrainJob's status: "
  rm -f go server/posts
  start_job -np 1 "${training[@]}" 40 0
  wait_for 20 "the line" grep -q 'cannot post' err
  touch go
  end_job
  expect_status 0
  expect_count 1 "^dtlaunch: localhost port $port: cannot post the TrainJob's status: $1.*; the job does not depend on it" err
  expect_count 1 . err
}
echo 403 >server/answer
refused 'HTTP status 403'
posts 2 || fail "the last post has not been tried"
KUBEFLOW_TRAINER_SERVER_CA_CERT='' refused 'its certificate is refused: '
[ ! -e server/posts ] || fail "posts to an unknown server: $(cat server/posts)"
KUBEFLOW_TRAINER_SERVER_URL=nonsense launch -np 1 true
expect_status 0
expect_count 1 '^dtlaunch: KUBEFLOW_TRAINER_SERVER_URL: not an http or https URL' err

# Off: nothing is said and nothing is sent.
launch -np 1 --dry-run true
expect_no_err .
DISABLE_KUBEFLOW_INTEGRATION=TRUE KUBEFLOW_TRAINER_SERVER_URL=nonsense launch -np 1 true
expect_no_err .
