#include "launcher/job/job_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr std::size_t kLabelColumn = 11;  // where the text after "  stderr" starts

std::string who(const Outcome& outcome, const CardFacts& facts) {
  if (outcome.rank >= 0) return fmt::format("rank {} on {}", outcome.rank, facts.host);
  return facts.host;
}

std::string spawn_headline(const Outcome& outcome, const CardFacts& facts) {
  if (outcome.stage == "chdir") {
    return fmt::format("{}: cannot enter directory '{}': {}", who(outcome, facts),
                       facts.working_directory, errno_text(outcome.error_number));
  }
  if (outcome.stage == "interpreter") {
    return fmt::format("{}: cannot run '{}': the program that its first line names is not there",
                       who(outcome, facts), facts.program);
  }
  if (outcome.stage == "exec") {
    return fmt::format("{}: cannot run '{}': {}", who(outcome, facts), facts.program,
                       errno_text(outcome.error_number));
  }
  return fmt::format("{}: cannot start: {}: {}", who(outcome, facts), outcome.stage,
                     errno_text(outcome.error_number));
}

bool out_of_memory(const Outcome& outcome, const CardFacts& facts) {
  return outcome.signal == SIGKILL && facts.oom_kills > 0;
}

// The kernel killed a process that the failed rank may have needed.
bool lost_process(const Outcome& outcome, const CardFacts& facts) {
  return outcome.cause == Cause::kRankExit && facts.oom_kills > 0;
}

std::string headline(const Outcome& outcome, const CardFacts& facts) {
  switch (outcome.cause) {
    case Cause::kCompleted:
    case Cause::kDryRun:
    case Cause::kCannotStart:
      return {};
    case Cause::kSpawn:
      return spawn_headline(outcome, facts);
    case Cause::kRankExit:
      return fmt::format("{} exited with status {}", who(outcome, facts), outcome.exit_status);
    case Cause::kRankSignal:
      if (out_of_memory(outcome, facts)) {
        return fmt::format("{} was killed for want of memory (SIGKILL by the kernel)",
                           who(outcome, facts));
      }
      return fmt::format("{} was killed by {}", who(outcome, facts), signal_name(outcome.signal));
    case Cause::kNodeLost:
      return fmt::format("{}: node lost: {}", facts.host, outcome.text);
    case Cause::kAgentFailed:
      return fmt::format("{}: the agent failed: {}", facts.host, outcome.text);
    case Cause::kTimeout:
      return fmt::format("the job reached its time limit after {:.1f} s", facts.seconds);
    case Cause::kHang:
      return fmt::format("the job hangs and was ended after {:.1f} s: {}", facts.seconds,
                         outcome.text);
    case Cause::kInterrupted:
      return fmt::format("interrupted by {} after {:.1f} s", signal_name(outcome.signal),
                         facts.seconds);
    case Cause::kOutputClosed:
      return "nobody reads the standard output any more; the job was ended";
    case Cause::kStoppedSelf:
      return fmt::format(
          "dtlaunch itself was stopped for {}; the hosts end a job after {} s without it",
          outcome.text, std::chrono::seconds(kLease).count());
    case Cause::kHostsChanged:
      return {};  // the line that said so was the notice
    case Cause::kNotice:
      if (outcome.node < 0) {
        return fmt::format("the job's time was nearly over ({}), and it was stopped after {:.1f} s",
                           outcome.text, facts.seconds);
      }
      return fmt::format("{} has to go ({}), and the ranks were stopped after {:.1f} s", facts.host,
                         outcome.text, facts.seconds);
    case Cause::kUpEnded:
      return "the process of 'dtlaunch up' that kept the connections has ended; the hosts end the "
             "job";
  }
  return {};
}

// The host in question.
Host there(const CardFacts& facts) {
  Host host = facts.reached;
  host.name = facts.host;
  return host;
}

std::string over_there(const CardFacts& facts, const std::string& command) {
  return command_on(there(facts), command);
}

// The program as a shell there finds it: below the rank's own directory, or on the PATH.
std::string program_path(const CardFacts& facts) {
  const bool relative = !facts.program.starts_with('/') && !facts.working_directory.empty();
  if (facts.program.find('/') == std::string::npos) {
    return "\"$(command -v " + one_shell_word(facts.program) + ")\"";
  }
  return one_shell_word(relative ? facts.working_directory + "/" + facts.program : facts.program);
}

std::string look_at_program(const Outcome& outcome, const CardFacts& facts) {
  const bool on_path = facts.program.find('/') == std::string::npos;
  if (outcome.stage == "interpreter") {  // cat -A shows the carriage return of a line end of DOS
    return over_there(facts, fmt::format("head -n 1 {} | cat -A", program_path(facts)));
  }
  if (facts.program.ends_with(".py")) return "python3 " + one_shell_word(facts.program);
  if (!on_path) return over_there(facts, "namei -l " + program_path(facts));
  if (outcome.error_number == ENOENT) {
    return over_there(facts, "command -v " + one_shell_word(facts.program));
  }
  return over_there(facts, "find $(echo $PATH | tr : ' ') -maxdepth 1 -name " +
                               one_shell_word(facts.program) + " -ls");
}

std::string spawn_step(const Outcome& outcome, const CardFacts& facts) {
  if (outcome.stage == "exec" || outcome.stage == "interpreter") {
    return look_at_program(outcome, facts);
  }
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

// A thread of PyTorch's gloo gives a Python object back; where the interpreter is no more by then,
// the C++ library ends the process, though all work is done.
bool meets_the_end_of_python(const std::vector<std::string>& last_lines) {
  return std::any_of(last_lines.begin(), last_lines.end(), [](const std::string& line) {
    return line == "terminate called without an active exception";
  });
}

std::string signal_step(const Outcome& outcome, const CardFacts& facts) {
  constexpr int kLeaveCores[] = {SIGQUIT, SIGILL, SIGABRT, SIGFPE,
                                 SIGSEGV, SIGBUS, SIGSYS,  SIGTRAP};
  if (outcome.signal == SIGKILL) return kills_command(there(facts));
  if (outcome.signal == SIGXCPU) return over_there(facts, "ulimit -t");
  if (outcome.signal == SIGXFSZ) return over_there(facts, "ulimit -f");
  if (outcome.signal == SIGABRT && meets_the_end_of_python(facts.last_lines)) {
    return "time.sleep(1) at the script's end, for a thread of PyTorch's gloo; or dtring";
  }
  if (std::find(std::begin(kLeaveCores), std::end(kLeaveCores), outcome.signal) !=
      std::end(kLeaveCores)) {
    return "ulimit -c unlimited  # then again: a core file is kept";
  }
  return {};  // somebody sent it, and nothing on the host says who
}

// A script asks for the backend of dtring, which nothing has imported. transformers checks its
// arguments, or accelerate the backend; PyTorch's words changed between 1.13 and 2.
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

std::string next_step(const Outcome& outcome, const CardFacts& facts) {
  switch (outcome.cause) {
    case Cause::kSpawn:
      return spawn_step(outcome, facts);
    case Cause::kRankSignal:
      if (out_of_memory(outcome, facts)) return "fewer ranks on this host, or smaller batches";
      return signal_step(outcome, facts);
    case Cause::kNodeLost:
      return state_command(there(facts));
    case Cause::kAgentFailed:  // an engine knows what it has ended
      return facts.reached.access.by == HostAccess::By::kSsh ? state_command(there(facts))
                                                             : kills_command(there(facts));
    case Cause::kCompleted:
    case Cause::kDryRun:
    case Cause::kCannotStart:
    case Cause::kInterrupted:
    case Cause::kOutputClosed:
    case Cause::kStoppedSelf:
    case Cause::kHostsChanged:
    case Cause::kNotice:
      break;
    case Cause::kTimeout:
    case Cause::kHang:
      return hang_step(judge_hang(facts.asked, facts.hang));
    case Cause::kUpEnded:
      return "dtlaunch up, and the same command again";
    case Cause::kRankExit:
      if (lost_process(outcome, facts)) return "fewer ranks on this host, or smaller batches";
      if (lacks_dtring(facts.last_lines) || lacks_dtring(facts.traceback)) {
        return "-genv DTRING_AUTOLOAD 1  # its Python needs the package dtring: dtring-torch(7)";
      }
      break;
  }
  return {};
}

std::vector<std::string> others(const Outcome& outcome, const CardFacts& facts) {
  std::vector<std::string> pieces;
  if (!facts.stopped.empty()) pieces.push_back(ranks_text(facts.stopped) + " ended by dtlaunch");
  if (!facts.failed_too.empty()) pieces.push_back(ranks_text(facts.failed_too) + " failed later");
  if (!facts.disconnected.empty()) {
    const std::string whom = outcome.rank >= 0 ? fmt::format("rank {}", outcome.rank) : facts.host;
    pieces.push_back(fmt::format("{} lost {} connection{}", ranks_text(facts.disconnected),
                                 facts.disconnected.size() == 1 ? "its" : "their",
                                 facts.itself_disconnected ? ", too" : " because of " + whom));
  }
  if (!facts.lost.empty()) pieces.push_back(ranks_text(facts.lost) + " lost");
  return pieces;
}

std::string memory_text(const CardFacts& facts) {
  constexpr double kGiB = 1 << 30;
  std::string text = fmt::format("peak {:.2f} GiB", static_cast<double>(facts.peak_bytes) / kGiB);
  if (facts.memory_limit > 0) {
    text += fmt::format("; the limit of its control group: {:.2f} GiB",
                        static_cast<double>(facts.memory_limit) / kGiB);
  }
  return text;
}

bool continues_utf8(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Of a line of Python's traceback, `File "PATH", line 7, in main`, the end says most: the beginning
// of the path goes.
std::string shorten_path(std::string line, std::size_t columns) {
  constexpr std::string_view kFile = "File \"";
  const std::size_t file = line.find(kFile);
  const std::size_t quote = line.rfind("\", line ");
  if (line.size() <= columns || file == std::string::npos || quote == std::string::npos)
    return line;
  const std::size_t path = file + kFile.size();
  std::size_t excess = line.size() - columns + 3;
  while (path + excess < quote && continues_utf8(line[path + excess])) ++excess;
  if (path + excess >= quote) return line;
  return line.replace(path, excess, "...");
}

// Cuts to the width without splitting a UTF-8 sequence; control characters become blanks, and what
// else could repaint the card is spelled out.
std::string fit(std::string line, std::size_t columns) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  line = shorten_path(printable(line), columns);
  if (line.size() <= columns) return line;
  std::size_t end = columns - 3;
  while (end > 0 && continues_utf8(line[end])) --end;
  return line.substr(0, end) + "...";
}

}  // namespace

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::kCompleted:
      return "completed";
    case Cause::kDryRun:
      return "dry-run";
    case Cause::kCannotStart:
      return "cannot-start";
    case Cause::kSpawn:
      return "spawn-failed";
    case Cause::kRankExit:
      return "rank-exit";
    case Cause::kRankSignal:
      return "rank-signal";
    case Cause::kNodeLost:
      return "node-lost";
    case Cause::kAgentFailed:
      return "agent-failed";
    case Cause::kTimeout:
      return "timeout";
    case Cause::kHang:
      return "hang";
    case Cause::kInterrupted:
      return "interrupted";
    case Cause::kOutputClosed:
      return "output-closed";
    case Cause::kStoppedSelf:
      return "stopped-self";
    case Cause::kHostsChanged:
      return "hosts-changed";
    case Cause::kNotice:
      return "notice";
    case Cause::kUpEnded:
      return "up-ended";
  }
  return "?";
}

bool looks_like_consequence(const std::vector<std::string>& last_lines) {
  constexpr std::string_view kSigns[] = {"connection reset by peer",
                                         "connection closed by peer",
                                         "broken pipe",
                                         "connection refused",
                                         "connection was closed",
                                         "lost the connection",
                                         " was lost: ",  // libdtring's own, and the next
                                         " was lost while the ring was formed",
                                         "socket closed",
                                         "remote process exited"};
  return std::any_of(last_lines.begin(), last_lines.end(), [&](const std::string& line) {
    const std::string lower = to_lower(line);
    return std::any_of(std::begin(kSigns), std::end(kSigns), [&](std::string_view sign) {
      return lower.find(sign) != std::string::npos;
    });
  });
}

int spawn_status(const std::string& stage, int error_number) {
  if (stage != "exec" && stage != "interpreter") return static_cast<int>(Exit::kOs);
  return static_cast<int>(error_number == ENOENT ? Exit::kNotFound : Exit::kNotExecutable);
}

std::string failure_card(const Outcome& outcome, const CardFacts& facts, int columns) {
  const std::string first = headline(outcome, facts);
  if (first.empty()) return {};
  const std::size_t width = static_cast<std::size_t>(std::max(columns, 40));
  // The first line follows "dtlaunch: " on the screen and is the one that must never be cut.
  std::string card = first;
  const auto add = [&](std::string_view label, const std::string& text) {
    if (text.empty()) return;
    card += '\n' + fit(fmt::format("  {:<{}}{}", label, kLabelColumn - 2, text), width);
  };
  if (outcome.rank >= 0 && facts.pid != 0) {
    add("process", fmt::format("{} ({})", facts.pid, facts.program));
  }
  if (out_of_memory(outcome, facts)) add("memory", memory_text(facts));
  if (lost_process(outcome, facts)) {
    add("memory", fmt::format("the kernel killed {} process{} of this job there for want of memory",
                              facts.oom_kills, facts.oom_kills == 1 ? "" : "es"));
    add("", memory_text(facts));
  }
  const bool traced = !facts.traceback.empty();
  const std::vector<std::string>& lines = traced ? facts.traceback : facts.last_lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    add(i > 0 ? "" : traced ? "error" : "stderr", "| " + lines[i]);
  }
  for (const CardLine& line : hang_lines(judge_hang(facts.asked, facts.hang), facts.asked)) {
    add(line.label, line.text);
  }
  const std::vector<std::string> pieces = others(outcome, facts);
  const std::string joined = join(pieces, "; ");
  if (joined.size() + kLabelColumn <= width) {
    add("others", joined);
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) add(i == 0 ? "others" : "", pieces[i]);
  }
  // Never cut: half a command is none.
  const std::string step = next_step(outcome, facts);
  if (!step.empty()) card += fmt::format("\n  {:<{}}{}", "try", kLabelColumn - 2, printable(step));
  return card;
}

}  // namespace dtl
