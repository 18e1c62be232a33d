// LSF needs no file. LSB_MCPU_HOSTS, the shorter form, counts if both variables are set.
#include "plan/schedulers/lsf.h"

#include <fmt/format.h>

#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile_line.h"
#include "plan/schedulers/host_counts.h"
#include "plan/schedulers/own_variables.h"

namespace dtl {
namespace {

// blaunch forwards standard input and output, and ends with its command: that suffices for agents.
constexpr StarterWord kBlaunchWords[] = {{"blaunch"}, {"lsf"}};
constexpr std::string_view kBlaunchPrograms[] = {"blaunch"};
constexpr Starter kBlaunch = {
    .way = Starter::Way::kCarried,
    .words = kBlaunchWords,
    .programs = kBlaunchPrograms,
    .summary = "blaunch",
};

// LSF: "h1 2 h2 4", or each host repeated for each slot.
std::vector<Host> read_lsf(SchedulerReader& variables) {
  const bool counted = variables.has("LSB_MCPU_HOSTS");
  const std::string_view name = counted ? "LSB_MCPU_HOSTS" : "LSB_HOSTS";
  const std::string text = variables.needed(name);
  const TextPosition start = variables.position(name);
  const std::vector<Word> words = words_of(text);
  HostCounts hosts{std::string(name)};
  for (std::size_t i = 0; i < words.size(); i += counted ? 2 : 1) {
    const TextPosition here = start.at(words[i].column);
    if (counted && i + 1 == words.size()) {
      throw here.error(fmt::format("no number of slots after '{}'", printable(words[i].text)));
    }
    hosts.add(words[i].text,
              counted ? parse_slots(words[i + 1].text, start.at(words[i + 1].column)) : 1, here);
  }
  return hosts.take(start);
}

SchedulerEvidence read_lsf_job(const Sighting& /*seen*/, SchedulerReader& variables,
                               const SchedulerAnswers& /*answers*/) {
  SchedulerEvidence evidence;
  evidence.hosts = read_lsf(variables);
  evidence.job_id = variables.job_id("LSB_JOBID");
  evidence.starter = &kBlaunch;
  // If it is known, PATH is not searched.
  evidence.starter_folder = variables.text("LSF_BINDIR").value_or("");
  evidence.hosts_are_all = true;
  if (variables.text("LSB_RESTART") == "Y") {
    evidence.restart = 1;  // LSF does not say how often
    evidence.follows.push_back("LSF has started this job again");
  }
  return evidence;
}

std::vector<Sighting> look_for_lsf(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {variables.first_of({"LSB_MCPU_HOSTS", "LSB_HOSTS"})});
}

constexpr HostCommands kLsfCommands = {
    .state = "bhosts {0}",
    .kills = "bhist -l {1}",
    .ends = "bkill {1}",
    .runs = "bsub -I -m {0} {2}",
};

// Tasks started by jsrun or LSF's own task manager.
constexpr std::string_view kLsfTaskVariables[] = {"JSM_*", "LSF_PM_TASKID"};  // JSM: of jsrun

}  // namespace

constexpr Scheduler kLsf = {
    .name = "lsf",
    .title = "LSF",
    .task_variables = kLsfTaskVariables,
    .starter = &kBlaunch,
    .look = look_for_lsf,
    .read = read_lsf_job,
    .commands = [](const SchedulerEvidence&) -> const HostCommands& { return kLsfCommands; },
};

}  // namespace dtl
