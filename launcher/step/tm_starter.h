#pragma once
// TmStarter: in a job of PBS, a pbs_tmrsh or pbsdsh for each node, which have PBS's task manager
// start a command there. Its tasks have no standard input, write to the job's output, and their
// environment is the job's: so the token of the nodes goes through a file that all of them see.

#include <optional>
#include <string>
#include <vector>

#include "launcher/step/step_starter.h"
#include "launcher/step/token_file.h"

namespace dtl {

struct TmStarterOptions {
  std::string program;  // the path of pbs_tmrsh or pbsdsh
  // Of each node: its first line in PBS_NODEFILE, counted from 0, as pbsdsh -n has it.
  std::vector<int> lines;
  std::vector<std::string> command;  // of the dtlaunch on each node; its TmNodeWords follow
  std::string meeting_host;          // where we are, as the nodes know it
  std::string job;                   // PBS's number of it
  Variables environment;             // of this process
  std::string given_token_file;      // the user's own, which stays; empty: one is written
};

// What the dtlaunch on a node is told, one word each.
struct TmNodeWords {
  std::string host;  // where the step's room is
  int port = 0;
  std::string job, node;   // as the hello has them
  std::string token_file;  // absolute
};
std::vector<std::string> to_words(const TmNodeWords& told);
std::optional<TmNodeWords> parse_tm_node_words(const std::vector<std::string>& words);

// How the program is asked to run a command on the node of that name and line. Pure.
std::vector<std::string> tm_arguments(const std::string& program, const std::string& node, int line,
                                      const std::vector<std::string>& command);

class TmStarter final : public StepStarter {
 public:
  explicit TmStarter(TmStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override;
  std::string engine() const override { return "PBS"; }
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  void all_have_come() override { token_file_.remove(); }
  std::string hint(const Host& host) const override;

 private:
  const TmStarterOptions options_;
  TokenFile token_file_;
};

}  // namespace dtl
