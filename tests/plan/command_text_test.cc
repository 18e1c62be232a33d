#include "plan/request/command_text.h"

#include <gtest/gtest.h>

#include "base/text.h"

#include "plan/schedulers/evidence.h"
#include "plan/schedulers/flux.h"
#include "plan/schedulers/grid_engine.h"
#include "plan/schedulers/kubernetes.h"
#include "plan/schedulers/lsf.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/pod_commands.h"
#include "plan/schedulers/slurm.h"

namespace dtl::command_text_test {
namespace {

std::string shown(const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment = {}) {
  return join(shown_arguments(arguments, environment), " ");
}

TEST(CommandText, QuotesForAShell) {
  EXPECT_EQ(shown({"python3", "a b.py", "", "it's", "--lr=1e-4"}),
            "python3 'a b.py' '' 'it'\\''s' --lr=1e-4");
}

TEST(CommandText, SendsNoControlBytesToATerminal) {
  EXPECT_EQ(shown({"a\x1b[31m\n"}), "'a?[31m?'");
}

TEST(CommandText, MasksTheValuesOfSecretOptions) {
  EXPECT_EQ(shown({"x", "--hub_token", "abc", "--api-key=def", "DB_PASSWORD=p", "end"}),
            "x --hub_token '***' '--api-key=***' 'DB_PASSWORD=***' end");
}

TEST(CommandText, MasksSecretsWithinAnArgument) {
  EXPECT_EQ(shown({"sh", "-c", "x --password=p && y --token q r; A_TOKEN='a b' z"}),
            "sh -c 'x --password=*** && y --token *** r; A_TOKEN=*** z'");
  EXPECT_EQ(shown({"get", "http://host/?a=1&token=secret"}), "get 'http://host/?a=1&token=***'");
  EXPECT_EQ(shown({"curl", "-H", "Authorization: Bearer abc"}), "curl -H 'Authorization: ***'");
  EXPECT_EQ(shown({"sh", "-c", "curl -H 'authorization: x y' h"}),
            "sh -c 'curl -H '\\''authorization: ***'\\'' h'");
}

TEST(CommandText, MasksPasswordsOfUrls) {
  EXPECT_EQ(shown({"x", "postgres://me:hunter2@db:5432/a", "--url=https://u:p:q@h"}),
            "x 'postgres://me:***@db:5432/a' '--url=https://u:***@h'");
  EXPECT_EQ(shown({"git", "clone", "https://ghp_abc@github.com/x"}),
            "git clone 'https://***@github.com/x'");
  EXPECT_EQ(shown({"x", "ssh://me@host/a:b@c", "tcp://h:1", "me@host:dir"}),
            "x ssh://me@host/a:b@c tcp://h:1 me@host:dir");
}

TEST(CommandText, LeavesScriptsWithoutSecretsAlone) {
  const std::vector<std::string> script = {"-c",
                                           "a=1; b -k 'x  y' | c --tokens 5,\n  \"q\" ( --key"};
  EXPECT_EQ(masked_arguments(script, {}), script);
}

TEST(CommandText, LeavesTheWordsAsTheyAreWhenNotForATerminal) {
  const std::vector<std::string> arguments = {"a b", "--hub_token=x", "line\n"};
  EXPECT_EQ(masked_arguments(arguments, {}),
            (std::vector<std::string>{"a b", "--hub_token=***", "line\n"}));
}

TEST(CommandText, ShowsOptionsThatOnlySoundSecret) {
  EXPECT_EQ(shown({"--tokenizer_name", "bert", "--max_tokens=5", "--keyboard", "us"}),
            "--tokenizer_name bert --max_tokens=5 --keyboard us");
}

TEST(CommandText, MasksSecretsOfTheEnvironmentWhereverTheyStand) {
  EXPECT_EQ(shown({"sh", "-c", "login hf_123456"}, {"HF_TOKEN=hf_123456", "SHORT_KEY=sh"}),
            "sh -c 'login ***'");
}

// program: the scheduler's, which has started agents.
Host host_by(const Scheduler* scheduler, const std::string& name, const std::string& program = "") {
  Host host;
  host.name = name;
  SchedulerEvidence evidence;
  evidence.scheduler = scheduler;
  evidence.starter_path = program;
  host.access = host_access(evidence);
  host.access.job = "42";
  return host;
}

TEST(HandCommands, GoOverSshWhereAgentsDo) {
  Host host = host_by(nullptr, "n2");
  host.port = 2222;
  EXPECT_EQ(command_on(host, "ulimit -t"), "ssh -p 2222 n2 ulimit -t");
  EXPECT_EQ(state_command(host), "ssh -p 2222 n2 uptime");
  EXPECT_EQ(kills_command(host), "ssh -p 2222 n2 'dmesg | grep -i killed'");
  EXPECT_EQ(login_command(host), "ssh -p 2222 n2 true");
  EXPECT_EQ(leftovers_command(host), "dtlaunch clean -hosts n2");
  host.name = "localhost";
  EXPECT_EQ(state_command(host), "uptime");
}

TEST(HandCommands, AreSlurmsInItsStep) {
  Host host = host_by(&kSlurm, "n2.cluster-task1");
  host.access.name = "n2";
  EXPECT_EQ(command_on(host, "ulimit -u; ps | wc -l"),
            "srun --overlap -N 1 -n 1 -w n2 sh -c 'ulimit -u; ps | wc -l'");
  EXPECT_EQ(state_command(host), "scontrol show node n2");
  EXPECT_EQ(login_command(host), "scontrol show node n2");
  EXPECT_EQ(kills_command(host), "sacct -j 42");
  EXPECT_EQ(leftovers_command(host), "scancel 42");
}

TEST(HandCommands, AreTheOtherSchedulersOnTheirHosts) {
  EXPECT_EQ(state_command(host_by(&kFlux, "n2")), "flux resource status");
  EXPECT_EQ(kills_command(host_by(&kFlux, "n2")), "flux job eventlog 42");
  EXPECT_EQ(command_on(host_by(&kFlux, "n2"), "ulimit -t"),
            "flux run -n 1 --requires=host:n2 sh -c 'ulimit -t'");
  EXPECT_EQ(state_command(host_by(&kLsf, "n2")), "bhosts n2");
  EXPECT_EQ(kills_command(host_by(&kLsf, "n2")), "bhist -l 42");
  EXPECT_EQ(leftovers_command(host_by(&kLsf, "n2")), "bkill 42");
  Host unnumbered = host_by(&kLsf, "n2");  // LSF need not tell the job's id
  unnumbered.access.job.clear();
  EXPECT_EQ(kills_command(unnumbered), "bhosts n2");
  EXPECT_EQ(leftovers_command(unnumbered), "dtlaunch clean -hosts n2");
  EXPECT_EQ(state_command(host_by(&kGridEngine, "n2")), "qhost -h n2");
  EXPECT_EQ(kills_command(host_by(&kGridEngine, "n2")), "qacct -j 42");
  EXPECT_EQ(command_on(host_by(&kGridEngine, "n2"), "ulimit -t"),
            "qrsh -l hostname=n2 'ulimit -t'");
  EXPECT_EQ(state_command(host_by(&kPbs, "n2")), "pbsnodes n2");
  EXPECT_EQ(kills_command(host_by(&kPbs, "n2")), "qstat -f 42");
  EXPECT_EQ(leftovers_command(host_by(&kPbs, "n2", "/opt/pbs/bin/pbsdsh")), "qdel 42");
  EXPECT_EQ(command_on(host_by(&kPbs, "n2"), "ulimit -t"), "pbs_tmrsh n2 sh -c 'ulimit -t'");
  EXPECT_EQ(command_on(host_by(&kPbs, "n2", "/opt/pbs/bin/pbsdsh"), "ulimit -t"),
            "pbsdsh -h n2 sh -c 'ulimit -t'");
}

// A pod of an Indexed Job has a suffix after its hostname. kubectl describe accepts a prefix, and
// no other command does.
TEST(HandCommands, AreKubectlsInPods) {
  const Host ending = host_by(&kIndexedJob, "bert-1");
  for (const std::string& line :
       {state_command(ending), kills_command(ending), login_command(ending),
        command_on(ending, "namei -l /data"), describe_pod_command("bert-1")}) {
    EXPECT_EQ(line, "kubectl describe pod bert-1");
  }
  Host local = host_by(&kIndexedJob, "localhost");
  local.access.name = "bert-0";
  EXPECT_EQ(state_command(local), "kubectl describe pod bert-0");

  const Host worker = host_by(&kMpiJob, "dtl-worker-0.dtl.ns1.svc");
  EXPECT_EQ(state_command(worker), "kubectl -n ns1 describe pod dtl-worker-0");
  EXPECT_EQ(login_command(worker), "kubectl -n ns1 logs dtl-worker-0");
  EXPECT_EQ(command_on(worker, "ulimit -t"),
            "kubectl -n ns1 exec dtl-worker-0 -- sh -c 'ulimit -t'");
  EXPECT_EQ(leftovers_command(worker),
            "kubectl -n ns1 exec dtl-worker-0 -- sh -c 'dtlaunch clean'");
}

}  // namespace
}  // namespace dtl::command_text_test
