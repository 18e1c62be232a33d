// A card has a headline, facts with a label each, and one thing to try. Texts from ranks and hosts
// go to a terminal here, so that each of them is made printable.
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
#include "launcher/job/outcome_step.h"

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
  if (concerns_program(outcome.stage)) {
    const std::string reason =
        outcome.text.empty() ? errno_text(outcome.error_number) : printable(outcome.text);
    const bool on_path = facts.program.find('/') == std::string::npos;
    if (on_path && outcome.text.empty() && outcome.error_number == ENOENT) {
      const std::string near = facts.near_program.empty()
                                   ? ""
                                   : fmt::format("; {} is there", printable(facts.near_program));
      return fmt::format("{}: cannot run '{}': not found on PATH{}", who(outcome, facts),
                         facts.program, near);
    }
    return fmt::format("{}: cannot run '{}': {}", who(outcome, facts), facts.program, reason);
  }
  return fmt::format("{}: cannot start: {}: {}", who(outcome, facts), outcome.stage,
                     errno_text(outcome.error_number));
}

std::string mpi_headline(const Outcome& outcome, const CardFacts& facts) {
  const std::string rank = who(outcome, facts), text = printable(outcome.text);
  if (outcome.cause == Cause::kMpiAbort) {
    return fmt::format("{} called MPI_Abort({})", rank, outcome.code);
  }
  if (outcome.cause == Cause::kMpiLeft) {
    const char* how = ", and other ranks wait for it in MPI";
    if (outcome.code == 0) how = " without MPI_Finalize, and others still ran";
    if (outcome.code == kLeftAlone) how = " without MPI_Finalize, which other ranks called";
    return fmt::format("{} exited with status 0{}", rank, how);
  }
  if (outcome.cause == Cause::kMpiBroken) {
    return fmt::format("{} broke the rules of PMI: {}", rank, text);
  }
  return fmt::format("{} loaded {} without PMIx: each rank would be rank 0 of 1", rank, text);
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
    case Cause::kMpiAbort:
    case Cause::kMpiLeft:
    case Cause::kMpiBroken:
    case Cause::kMpiAlone:
      return mpi_headline(outcome, facts);
    case Cause::kUpEnded:
      return "the process of 'dtlaunch up' that kept the connections has ended; the hosts end the "
             "job";
  }
  return {};
}

std::vector<std::string> others(const Outcome& outcome, const CardFacts& facts) {
  std::vector<std::string> pieces;
  if (!facts.stopped.empty()) pieces.push_back(ranks_text(facts.stopped) + " ended by dtlaunch");
  if (!facts.silent.empty())
    pieces.push_back(ranks_text(facts.silent) + " failed, too, and wrote nothing to stderr");
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

// Control characters become blanks. Anything else that could repaint the card is spelled out.
std::string disarmed(std::string line) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return printable(line);
}

// How many bytes fit into a line: up to the last blank, if that is in the second half. Never
// divides a UTF-8 sequence.
std::size_t line_end(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (!continues_utf8(text[end]) && seen++ == columns) break;
  }
  if (end == text.size()) return end;
  const std::size_t blank = text.rfind(' ', end);
  return blank != std::string_view::npos && blank > end / 2 ? blank : end;
}

// Wraps at `columns`; 0: not at all. Later lines are indented a little more, so that a label stays
// visible.
std::string wrapped(std::string_view text, std::size_t columns) {
  constexpr std::size_t kFurther = 2;
  std::string lines;
  std::size_t indent = kLabelColumn;
  while (columns > 0) {
    const std::size_t end = line_end(text, columns - indent);
    if (end == text.size()) break;
    indent = kLabelColumn + kFurther;
    lines += fmt::format("{}\n{:{}}", text.substr(0, end), "", indent);
    text.remove_prefix(text[end] == ' ' ? end + 1 : end);
  }
  return lines.append(text);
}

// A trainer's message is the last that it writes, and says all: seen once is enough.
bool has_spoken_for_itself(const CardFacts& facts) {
  const std::string name = facts.program.substr(facts.program.rfind('/') + 1);
  return facts.lines_shown && name == "dttrain" && !facts.last_lines.empty() &&
         facts.last_lines.back().starts_with("dttrain: ");
}

struct Quote {
  std::vector<std::string> lines;
  std::string step;  // the one to try
};

// The command at the end of the last line becomes the card's where the line would be wrapped.
Quote quote_of(const CardFacts& facts, const std::string& step, std::size_t width) {
  constexpr std::string_view kTry = ". Try: ", kMark = "| ";
  if (has_spoken_for_itself(facts)) return {{}, step};
  // The error file has the exception itself; standard error may end with somebody else's lines.
  Quote quote{facts.traceback.empty() ? facts.last_lines : facts.traceback, step};
  if (quote.lines.empty() || !step.empty() || width == 0) return quote;
  std::string& last = quote.lines.back();
  const std::size_t at = last.rfind(kTry);
  if (at == last.npos || kLabelColumn + kMark.size() + last.size() <= width) return quote;
  quote.step = last.substr(at + kTry.size());
  last.erase(at);
  return quote;
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
    case Cause::kMpiAbort:
      return "mpi-abort";
    case Cause::kMpiLeft:
      return "mpi-left";
    case Cause::kMpiBroken:
      return "mpi-broken";
    case Cause::kMpiAlone:
      return "mpi-alone";
    case Cause::kUpEnded:
      return "up-ended";
  }
  return "?";
}

LastWords judge_last_words(const std::vector<std::string>& last_lines) {
  // Of Linux, PyTorch's gloo and libdtring, in small letters.
  constexpr std::string_view kSigns[] = {"connection reset by peer",
                                         "connection closed by peer",
                                         "broken pipe",
                                         "connection refused",
                                         "connection was closed",
                                         "lost the connection",
                                         " was lost: ",  // libdtring's own, and the next two
                                         " was lost while the ring was formed",
                                         " aborted: ",
                                         "socket closed",
                                         "remote process exited"};
  if (last_lines.empty()) return LastWords::kNone;
  const auto of_another = [&](const std::string& line) {
    const std::string lower = to_lower(line);
    return std::any_of(std::begin(kSigns), std::end(kSigns), [&](std::string_view sign) {
      return lower.find(sign) != std::string::npos;
    });
  };
  return std::any_of(last_lines.begin(), last_lines.end(), of_another) ? LastWords::kOfAnother
                                                                       : LastWords::kOwn;
}

int spawn_status(const std::string& stage, int error_number) {
  if (!concerns_program(stage)) return static_cast<int>(Exit::kOs);
  return static_cast<int>(error_number == ENOENT ? Exit::kNotFound : Exit::kNotExecutable);
}

std::string failure_card(const Outcome& outcome, const CardFacts& facts, int columns) {
  const std::string first = headline(outcome, facts);
  if (first.empty()) return {};
  constexpr int kNarrowest = 40;
  const std::size_t width =
      columns == 0 ? 0 : static_cast<std::size_t>(std::max(columns, kNarrowest));
  // The first line follows "dtlaunch: " on the screen.
  std::string card = first;
  const auto add = [&](std::string_view label, const std::string& text) {
    if (text.empty()) return;
    card += fmt::format("\n  {:<{}}{}", label, kLabelColumn - 2, wrapped(disarmed(text), width));
  };
  // A rank that never started has no process.
  if (outcome.rank >= 0 && facts.pid != 0) {
    add("process", fmt::format("{} ({})", facts.pid, facts.program));
  }
  if (out_of_memory(outcome, facts)) add("memory", memory_text(facts));
  if (lost_process(outcome, facts)) {
    add("memory", fmt::format("the kernel killed {} process{} of this job there for want of memory",
                              facts.oom_kills, facts.oom_kills == 1 ? "" : "es"));
    add("", memory_text(facts));
  }
  const Quote quote = quote_of(facts, next_step(outcome, facts), width);
  for (std::size_t i = 0; i < quote.lines.size(); ++i) {
    add(i > 0 ? "" : facts.traceback.empty() ? "stderr" : "error", "| " + quote.lines[i]);
  }
  for (const CardLine& line : hang_lines(judge_hang(facts.asked, facts.hang), facts.asked)) {
    add(line.label, line.text);
  }
  const std::vector<std::string> pieces = others(outcome, facts);
  const std::string joined = join(pieces, "; ");
  // In one line if it fits, otherwise a line for each kind.
  if (width == 0 || joined.size() + kLabelColumn <= width) {
    add("others", joined);
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) add(i == 0 ? "others" : "", pieces[i]);
  }
  // In one piece, to be copied.
  if (!quote.step.empty()) {
    card += fmt::format("\n  {:<{}}{}", "try", kLabelColumn - 2, printable(quote.step));
  }
  return card;
}

}  // namespace dtl
