#pragma once
// TaskStarter: starts agents in a PBS job. It runs one pbs_tmrsh or pbsdsh for each node, and PBS's
// task manager starts the command there. Such tasks have no standard input, write to the job's
// output, and get the job's environment instead of ours. So agents connect back over TCP, and nodes
// read the token from a file that all of them see. PBS_JOBCOOKIE cannot replace the token: it is
// too short, and ranks see it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/step_plan.h"
#include "launcher/schedulers/token_file.h"
#include "launcher/step/step_starter.h"

namespace dtl {

struct TaskStarterOptions {
  std::string program;  // the path of pbs_tmrsh or pbsdsh
  // For each node: its first line in PBS_NODEFILE, counted from 0, for pbsdsh -n.
  std::vector<int> lines;
  std::vector<std::string> command;  // the dtlaunch on each node; its TaskNodeWords follow
  std::string meeting_host;          // this host, as the nodes know it
  std::string job;                   // PBS's job number
  Variables environment;             // of this process
  std::string given_token_file;      // the user's own, which stays; empty: write one
};

// The arguments of the dtlaunch on a node, one word each.
struct TaskNodeWords {
  std::string host;  // where the step's room is
  int port = 0;
  std::string job, node;   // for the hello
  std::string token_file;  // absolute
};
// Conversion to words and back; nullopt for words that to_words() cannot have made.
std::vector<std::string> to_words(const TaskNodeWords& told);
std::optional<TaskNodeWords> parse_task_node_words(const std::vector<std::string>& words);

// The arguments with which the program runs a command on a node: pbs_tmrsh needs its name, pbsdsh
// its line. Pure.
std::vector<std::string> task_arguments(const std::string& program, const std::string& node,
                                        int line, const std::vector<std::string>& command);

class TaskStarter final : public StepStarter {
 public:
  explicit TaskStarter(TaskStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override;
  std::string scheduler() const override { return "PBS"; }
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  // No node needs the file any more. The step's thread calls this.
  void all_have_come() override { token_file_.remove(); }
  std::string hint(const Host& host) const override;

 private:
  const TaskStarterOptions options_;
  TokenFile token_file_;
};

// StepStarterRow documents both.
std::optional<StepPlan> plan_tasks(const CommandLine& line, const SchedulerEvidence& evidence,
                                   const Variables& environment, std::vector<std::string>& notices);
std::unique_ptr<StepStarter> make_task_starter(const StepPlan& plan, const Surroundings& around);

// The hidden command of dtlaunch that runs on each node. TaskNodeWords follow; the file that they
// name has the token. Returns the job's exit status; throws Error.
constexpr const char* kTaskNode = "tm-node";
int run_task_node(const std::vector<std::string>& words, const std::string& agent_path);

}  // namespace dtl
