// All families write PE_HOSTFILE in the same form. Its later words, queue and range, are ignored:
// only slots determine the number of ranks on a host.
#include "plan/schedulers/grid_engine.h"

#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile_line.h"
#include "plan/schedulers/host_counts.h"
#include "plan/schedulers/own_variables.h"

namespace dtl {
namespace {

constexpr std::string_view kHostFile = "PE_HOSTFILE";

// qrsh forwards standard input and output, and ends with its command. -inherit makes it a task of
// the running job; -V passes the environment.
constexpr StarterWord kQrshWords[] = {{"qrsh"}, {"sge"}};
constexpr std::string_view kQrshPrograms[] = {"qrsh"};
constexpr std::string_view kQrshArguments[] = {"-inherit", "-V"};
constexpr Starter kQrsh = {
    .way = Starter::Way::kCarried,
    .words = kQrshWords,
    .programs = kQrshPrograms,
    .arguments = kQrshArguments,
    .summary = "qrsh -inherit",
};

// A line for each host: host, slots, queue and range.
std::vector<Host> read_sge(std::string_view text, const std::string& path) {
  HostCounts hosts(path);
  for_each_line(text, path, [&](const std::vector<Word>& words, const TextPosition& start) {
    if (words.size() < 2) {
      throw start.at(words[0].column).error("a line is: host slots queue range");
    }
    hosts.add(words[0].text, parse_slots(words[1].text, start.at(words[1].column)),
              start.at(words[0].column));
  });
  return hosts.take({path + ":1:"});
}

void ask_host_file(const Sighting& /*seen*/, SchedulerReader& variables,
                   SchedulerQuestions& questions) {
  HostListFile file = host_list_file(kHostFile, variables);
  questions.file = std::move(file.path);
  questions.named_by = std::move(file.named_by);
}

SchedulerEvidence read_sge_job(const Sighting& /*seen*/, SchedulerReader& variables,
                               const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  const HostListFile file = host_list_file(kHostFile, variables);
  evidence.hosts = read_sge(text_of(file, answers), file.path);
  evidence.job_id = variables.job_id("JOB_ID");
  evidence.starter = &kQrsh;
  const auto root = variables.text("SGE_ROOT"), architecture = variables.text("ARC");
  // The folder depends on the architecture, as SGE keeps programs for several in one tree.
  if (root && architecture) evidence.starter_folder = *root + "/bin/" + *architecture;
  evidence.hosts_are_all = true;
  return evidence;
}

std::vector<Sighting> look_for_sge(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {kHostFile});
}

constexpr HostCommands kSgeCommands = {
    .state = "qhost -h {0}",
    .kills = "qacct -j {1}",
    .ends = "qdel {1}",
    .runs = "qrsh -l hostname={0} {2}",
};

}  // namespace

constexpr Scheduler kGridEngine = {
    .name = "sge",
    .title = "Grid Engine",
    .task_variables = {},
    .starter = &kQrsh,
    .look = look_for_sge,
    .ask = ask_host_file,
    .read = read_sge_job,
    .commands = [](const SchedulerEvidence&) -> const HostCommands& { return kSgeCommands; },
};

}  // namespace dtl
