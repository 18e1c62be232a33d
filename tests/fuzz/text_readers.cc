// Readers of host lists that other programs write.

#include "base/fd.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/request/hostfile.h"
#include "plan/request/hostlist.h"
#include "plan/schedulers/evidence.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/slurm_hostlist.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {
namespace {

const std::vector<std::string> kWords = {
    "slots=2", "user=x", "port=",        "max_slots=",
    "::1",     "%eth0",  "10.0.0.",      "[1-300][1-300]",
    "01-04",   "65536",  "9-1",          "#",
    "//",      "\r\n",   "\xef\xbb\xbf", "99999999999999999999"};

void check_hosts(const std::vector<Host>& hosts) {
  require(!hosts.empty(), "no hosts and no error");
  require(hosts.size() <= kMaxHosts, "too many hosts");
  for (const Host& host : hosts) {
    require(!host.name.empty() && host.name[0] != '-' && !host.user.starts_with('-') &&
                host.name.find_first_of(" \t\r\n[]@,/=") == std::string::npos,
            "a name that is none");
    require(!host.slots || (*host.slots >= 1 && *host.slots <= kMaxRanks), "slots");
  }
}

// "hosts:3:7", "column 7": a name, then a number that is at least 1.
std::function<bool(const Error&)> counts_from(const std::string& prefix) {
  return [prefix](const Error& error) {
    if (!error.attempted().starts_with(prefix)) return false;
    const std::string rest = error.attempted().substr(prefix.size());
    return parse_integer(rest.substr(0, rest.find_first_of(": ")), 1, INT32_MAX).has_value() &&
           !error.reason().empty();
  };
}

// "-hosts a,,b: column 3": the whole option and the column.
bool says_column(const Error& error) {
  constexpr std::string_view kColumn = ": column ";
  const std::size_t column = error.attempted().rfind(kColumn);
  return error.attempted().starts_with("-hosts ") && column != std::string::npos &&
         parse_integer(error.attempted().substr(column + kColumn.size()), 1, INT32_MAX) &&
         !error.reason().empty();
}

std::vector<std::string> samples() {
  std::vector<std::string> texts;
  for (const char* name : {"names", "mpich", "openmpi", "ranges", "addresses", "ports", "machines",
                           "windows", "own", "deepspeed", "slurm", "localhost"}) {
    texts.push_back(read_file(std::string(DTL_HOSTFILES) + "/" + name, kMaxHostfileBytes));
  }
  return texts;
}

// A scheduler's variables, one per line.
void read_scheduler_text(const std::string& bytes) {
  Variables environment;
  for (const std::string& line : split(bytes, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos || line.find('\0') != line.npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  const SchedulerQuestions questions = scheduler_questions(environment, {});
  SchedulerAnswers answers;
  if (!questions.file.empty()) answers.file = "h1 2 q UNDEFINED\n";
  if (questions.scheduler == &kPbs) answers.file = "h1\nh1\n";
  if (questions.tool) answers.tool = "c[1-2]";
  const SchedulerEvidence evidence = find_scheduler(environment, {}, answers);
  if (!evidence.hosts.empty() && evidence.role == SchedulerRole::kLauncher) {
    check_hosts(evidence.hosts);
  }
  require(!evidence.node_rank || *evidence.node_rank >= 0, "a node's number");
  for (const std::string& line : split(evidence_text(evidence), '\n')) {
    require(printable(line) == line, "a line that a terminal obeys");
  }
}

void check_expansion(const std::vector<std::string>& names) {
  require(!names.empty() && names.size() <= kMaxHosts, "no names and no error");
}

std::vector<std::string> scheduler_samples() {
  std::vector<std::string> texts;
  for (const char* name :
       {"slurm22-sbatch-N2-n3", "slurm22-sbatch-exclusive", "slurm22-step-N2-n3-rank2",
        "slurm22-step-ntpn1-node1", "k8s-pytorchjob-elastic-worker2", "k8s-jobset-worker3",
        "k8s-pytorchjob-master-worker1-nproc2", "flux-task5", "flux-node1", "lsf", "sge", "pbs"}) {
    texts.push_back(read_file(std::string(DTL_SCHEDULERS) + "/" + name + ".env", 1 << 16));
  }
  return texts;
}

}  // namespace

std::vector<Reader> text_readers() {
  return {
      {"hostfile", samples(), kWords,
       [](const std::string& bytes) { check_hosts(parse_hostfile(bytes, "hosts")); },
       counts_from("hosts:")},
      {"hosts-option",
       {"a", "a,b:2", "n[01-04,07]:2,al@b", "[::1]:2,10.0.0.[1-4]"},
       kWords,
       [](const std::string& bytes) { check_hosts(parse_host_option(bytes)); },
       says_column},
      {"hostlist",
       {"n[01-04,07]", "[n01-n04]", "r[1-2]n[1-2]", "[a-1-a-3,b]"},
       kWords,
       [](const std::string& bytes) {
         require(!expand_hostlist(bytes, {"column "}).empty(), "no names and no error");
       },
       counts_from("column ")},
      {"slurm-hostlist",
       {"n[01-04,07]", "r[1-2]c[01-02]s[8-10],login", "a,,b[2-3]", "n[1-2][3-4]"},
       kWords,
       [](const std::string& bytes) { check_expansion(expand_slurm_hostlist(bytes, {"column "})); },
       counts_from("column ")},
      {"slurm-counts",
       {"2(x3),1", "8(x4)", "1,2(x2),3"},
       {"(x", "65536", ",,"},
       [](const std::string& bytes) {
         require(expand_slurm_counts(bytes, 4, {"column "}).size() == 4, "other than 4");
       },
       counts_from("column ")},
      {"scheduler", scheduler_samples(), kWords, read_scheduler_text, [](const Error& error) {
         return !error.attempted().empty() && printable(error.what()) == error.what();
       }}};
}

}  // namespace dtl::fuzz
