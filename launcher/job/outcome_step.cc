// Every command runs on the host in question, in the way that reaches it (command_on), and is
// quoted for its shell.
#include "launcher/job/outcome_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

// The host in question.
Host there(const CardFacts& facts) {
  Host host = facts.reached;
  host.name = facts.host;
  return host;
}

std::string over_there(const CardFacts& facts, const std::string& command) {
  return command_on(there(facts), command);
}

// The program as a shell there finds it: relative to the rank's own directory, or on the PATH.
std::string program_path(const CardFacts& facts) {
  const bool relative = !facts.program.starts_with('/') && !facts.working_directory.empty();
  // Quoted, since a folder of the PATH may have blanks.
  if (facts.program.find('/') == std::string::npos) {
    return "\"$(command -v " + one_shell_word(facts.program) + ")\"";
  }
  return one_shell_word(relative ? facts.working_directory + "/" + facts.program : facts.program);
}

std::string end_lines_as_here(const CardFacts& facts) {
  return over_there(facts, fmt::format("sed -i 's/\\r$//' {}", program_path(facts)));
}

std::string look_at_program(const Outcome& outcome, const CardFacts& facts) {
  const bool on_path = facts.program.find('/') == std::string::npos;
  // It was looked for in a container: the headline says it all.
  if (outcome.stage == "exec" && !outcome.text.empty()) return {};
  if (outcome.stage == "carriage-return") return end_lines_as_here(facts);
  if (outcome.stage == "byte-order-mark") {
    return over_there(facts, fmt::format(R"(sed -i '1s/^\xef\xbb\xbf//' {})", program_path(facts)));
  }
  // It may lack the execute bit or the first line that names Python.
  if (facts.program.ends_with(".py")) return "python3 " + one_shell_word(facts.program);
  // namei shows the permissions of each folder on the path, including the one that denies access.
  if (!on_path) return over_there(facts, "namei -l " + program_path(facts));
  if (outcome.error_number == ENOENT) {
    // What is there under the name that was meant, or where it was looked for.
    return over_there(facts, facts.near_program.empty()
                                 ? "echo $PATH"
                                 : "command -v " + one_shell_word(facts.near_program));
  }
  // The shell ignores files that are not executable; find shows them with their permissions.
  return over_there(facts, "find $(echo $PATH | tr : ' ') -maxdepth 1 -name " +
                               one_shell_word(facts.program) + " -ls");
}

std::string spawn_step(const Outcome& outcome, const CardFacts& facts) {
  if (outcome.stage == "format" || outcome.stage == "interpreter") {
    if (!outcome.text.empty()) return {};  // the headline says it all
    return over_there(facts, fmt::format("head -n 1 {} | cat -v", program_path(facts)));
  }
  if (concerns_program(outcome.stage)) return look_at_program(outcome, facts);
  if (outcome.stage == "chdir") {
    return over_there(facts, "namei -l " + one_shell_word(facts.working_directory)) +
           "  # -wdir names another";
  }
  if (outcome.stage == "affinity") {
    return over_there(facts, "grep Cpus_allowed_list /proc/self/status");
  }
  const std::string command = limit_command(outcome.error_number);
  return command.empty() ? "" : over_there(facts, command);
}

// A thread of PyTorch's gloo may release a Python object after the interpreter has ended. The C++
// runtime then aborts the process, although all work is done.
bool meets_the_end_of_python(const std::vector<std::string>& last_lines) {
  return std::any_of(last_lines.begin(), last_lines.end(), [](const std::string& line) {
    return line == "terminate called without an active exception";
  });
}

std::string signal_step(const Outcome& outcome, const CardFacts& facts) {
  constexpr int kLeaveCores[] = {SIGQUIT, SIGILL, SIGABRT, SIGFPE,
                                 SIGSEGV, SIGBUS, SIGSYS,  SIGTRAP};
  if (outcome.signal == SIGKILL) return kills_command(there(facts));
  // The kernel sends these two when a limit is exceeded; ulimit shows it.
  if (outcome.signal == SIGXCPU) return over_there(facts, "ulimit -t");
  if (outcome.signal == SIGXFSZ) return over_there(facts, "ulimit -f");
  if (outcome.signal == SIGABRT && meets_the_end_of_python(facts.last_lines)) {
    return "time.sleep(1) at the script's end, for a thread of PyTorch's gloo; or dtring";
  }
  if (std::find(std::begin(kLeaveCores), std::end(kLeaveCores), outcome.signal) !=
      std::end(kLeaveCores)) {
    // These signals mean a fault of the program, and a core file says where.
    return "ulimit -c unlimited  # then again: a core file is kept";
  }
  return {};  // somebody sent it, and nothing on the host says who
}

// The script asks for dtring's backend without importing dtring. These are the messages of
// transformers, of PyTorch 1.13 and 2, and of accelerate.
bool lacks_dtring(const std::vector<std::string>& lines) {
  constexpr std::string_view kSigns[] = {
      "invalid choice: 'dtring'",         "invalid choice: 'ccl'",
      "Unknown backend type dtring",      "Unknown backend type ccl",
      "Unknown c10d backend type DTRING", "Unknown c10d backend type CCL",
      "Invalid backend: 'dtring'",        "Invalid backend: 'ccl'",
      "Your assigned backend dtring is",  "Your assigned backend ccl is"};
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return std::any_of(std::begin(kSigns), std::end(kSigns),
                       [&](std::string_view sign) { return line.find(sign) != std::string::npos; });
  });
}

// "#!/usr/bin/env python3" in a file with Windows line endings: env does not find "python3\r".
bool env_saw_carriage_return(const Outcome& outcome, const CardFacts& facts) {
  return outcome.exit_status == 127 &&
         std::any_of(facts.last_lines.begin(), facts.last_lines.end(), [](std::string_view line) {
           return line.find("env: ") != std::string_view::npos &&
                  (line.find("\\r") != std::string_view::npos ||
                   line.find('\r') != std::string_view::npos);
         });
}

}  // namespace

bool concerns_program(std::string_view stage) {
  constexpr std::string_view kStages[] = {"exec", "interpreter", "format", "byte-order-mark",
                                          "carriage-return"};
  return std::find(std::begin(kStages), std::end(kStages), stage) != std::end(kStages);
}

bool out_of_memory(const Outcome& outcome, const CardFacts& facts) {
  return outcome.signal == SIGKILL && facts.oom_kills > 0;
}

// dtagent or dtpmix, as the keeper or the agent says it.
bool was_killed(const Outcome& outcome) {
  return outcome.text.find("killed by SIGKILL") != outcome.text.npos ||
         outcome.text.find("ended by signal 9") != outcome.text.npos;
}

bool lost_process(const Outcome& outcome, const CardFacts& facts) {
  return outcome.cause == Cause::kRankExit && facts.oom_kills > 0;
}

std::string next_step(const Outcome& outcome, const CardFacts& facts) {
  switch (outcome.cause) {
    case Cause::kSpawn:
      return spawn_step(outcome, facts);
    case Cause::kRankSignal:
      if (out_of_memory(outcome, facts)) return "fewer ranks on this host, or smaller batches";
      return signal_step(outcome, facts);
    case Cause::kNodeLost:
      return state_command(there(facts));
    case Cause::kAgentFailed:  // a scheduler knows what it has ended
      return facts.reached.access.by_ssh() && !was_killed(outcome) ? state_command(there(facts))
                                                                   : kills_command(there(facts));
    case Cause::kCompleted:
    case Cause::kDryRun:
    case Cause::kCannotStart:
    case Cause::kInterrupted:
    case Cause::kOutputClosed:
    case Cause::kStoppedSelf:
    case Cause::kHostsChanged:
    case Cause::kNotice:
    case Cause::kMpiAbort:
      break;
    case Cause::kMpiLeft:
      return outcome.code != 1 ? "MPI_Finalize before exit; or MPI_Abort, to end all ranks"
                               : "a job of its own for a program without MPI";
    case Cause::kMpiBroken:
      if (outcome.text.find("more") != outcome.text.npos &&
          outcome.text.find("PMIx_Fence") != outcome.text.npos) {
        return "PMIx_Fence without PMIX_COLLECT_DATA  # each rank then asks for what it needs";
      }
      // Processes of one rank may share a PMIx server, but not the descriptor of PMI-1.
      if (outcome.rank < 0 || outcome.text.find("PMIx") != outcome.text.npos) break;
      return "env -u PMI_FD PROGRAM  # for an MPI program inside a rank: it then runs alone";
    case Cause::kMpiAlone:
      return "--pmi pmix  # serves Open MPI, or says what a host lacks";
    case Cause::kTimeout:
    case Cause::kHang:
      return hang_step(judge_hang(facts.asked, facts.hang));
    case Cause::kUpEnded:
      return "dtlaunch up, and the same command again";
    case Cause::kRankExit:
      if (lost_process(outcome, facts)) return "fewer ranks on this host, or smaller batches";
      if (env_saw_carriage_return(outcome, facts)) return end_lines_as_here(facts);
      if (lacks_dtring(facts.last_lines) || lacks_dtring(facts.traceback)) {
        return "-genv DTRING_AUTOLOAD 1  # its Python needs the package dtring: dtring-torch(7)";
      }
      break;
  }
  return {};
}

}  // namespace dtl
