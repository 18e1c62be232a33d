// A host has as many slots as lines in PBS_NODEFILE. The line numbers are kept for pbsdsh, which
// counts lines.
#include "plan/schedulers/pbs.h"

#include <fmt/format.h>

#include "base/text.h"
#include "plan/schedulers/host_counts.h"
#include "plan/schedulers/own_variables.h"

namespace dtl {
namespace {

constexpr std::string_view kNodeFile = "PBS_NODEFILE";

// Runs on each host through PBS's task manager. Agents connect back by themselves, because a task
// has no input, and its output goes to the job's.
constexpr StarterWord kTaskManagerWords[] = {
    {"pbs"}, {"pbs_tmrsh", 0}, {"tmrsh", 0}, {"pbsdsh", 1}};
constexpr std::string_view kTaskManagerPrograms[] = {"pbs_tmrsh", "pbsdsh"};
constexpr Starter kTaskManager = {
    .way = Starter::Way::kTasks,
    .words = kTaskManagerWords,
    .programs = kTaskManagerPrograms,
    .folder = "$PBS_EXEC/bin",
    .summary = "{0} for each host, from which agents come back",
    .elsewhere = "this is not a job of PBS",
    .elsewhere_hint = "qsub -I, and dtlaunch in its shell, or dtlaunch --show-scheduler",
};

// PBS: a line with the hostname for each slot. first_lines: of each host, not counting empty lines.
std::vector<Host> read_pbs(std::string_view text, const std::string& path,
                           std::vector<int>& first_lines) {
  HostCounts hosts(path);
  int line = 0;
  for_each_line(text, path, [&](const std::vector<Word>& words, const TextPosition& start) {
    if (words.size() > 1) {
      throw start.at(words[1].column)
          .error(fmt::format("'{}' after the host", printable(words[1].text)));
    }
    hosts.add(words[0].text, 1, start.at(words[0].column));
    if (hosts.count() > first_lines.size()) first_lines.push_back(line);
    ++line;
  });
  return hosts.take({path + ":1:"});
}

void ask_node_file(const Sighting& /*seen*/, SchedulerReader& variables,
                   SchedulerQuestions& questions) {
  HostListFile file = host_list_file(kNodeFile, variables);
  questions.file = std::move(file.path);
  questions.named_by = std::move(file.named_by);
}

SchedulerEvidence read_pbs_job(const Sighting& /*seen*/, SchedulerReader& variables,
                               const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  const HostListFile file = host_list_file(kNodeFile, variables);
  evidence.hosts = read_pbs(text_of(file, answers), file.path, evidence.host_lines);
  evidence.job_id = variables.job_id("PBS_JOBID");
  evidence.starter = &kTaskManager;
  if (const auto folder = variables.text("PBS_EXEC")) evidence.starter_folder = *folder + "/bin";
  return evidence;
}

std::vector<Sighting> look_for_pbs(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {kNodeFile});
}

constexpr HostCommands kPbsCommands = {
    .state = "pbsnodes {0}",
    .kills = "qstat -f {1}",
    .ends = "qdel {1}",
    .runs = "pbs_tmrsh {0} sh -c {2}",
};
// OpenPBS and Torque may only have pbsdsh.
constexpr HostCommands kCommandsByPbsdsh = {
    .state = kPbsCommands.state,
    .kills = kPbsCommands.kills,
    .ends = kPbsCommands.ends,
    .runs = "pbsdsh -h {0} sh -c {2}",
};

const HostCommands& pbs_commands(const SchedulerEvidence& evidence) {
  // The program that started the agents also works for users.
  return evidence.starter_path.ends_with("/pbsdsh") ? kCommandsByPbsdsh : kPbsCommands;
}

// PALS starts tasks in the PBS of some sites.
constexpr std::string_view kPbsTaskVariables[] = {"PALS_*", "PBS_TASKNUM", "PBS_NODENUM",
                                                  "PBS_VNODENUM"};

}  // namespace

constexpr Scheduler kPbs = {
    .name = "pbs",
    .title = "PBS",
    .task_variables = kPbsTaskVariables,
    .starter = &kTaskManager,
    .look = look_for_pbs,
    .ask = ask_node_file,
    .read = read_pbs_job,
    .commands = pbs_commands,
};

}  // namespace dtl
