// The stack file is locked for the time of the question. Otherwise two askers would each read a mix
// of two answers. A killed asker's lock goes with it.
#include "agent/ask/asked_rank.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/job/failure_evidence.h"
#include "agent/job/process_usage.h"
#include "agent/jobs/job_processes.h"
#include "base/machine/process_id.h"
#include "base/text.h"

namespace dtl {
namespace {

// Answers are appended, and the file may be in memory. A longer file is cut back to its first line.
constexpr off_t kLongFile = 256 << 10;

void shorten(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= kLongFile) {
    return;
  }
  char line[32];
  const ssize_t size = ::pread(file, line, sizeof line, 0);
  const std::string_view text(line, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t end = text.find('\n');
  if (end == text.npos) return;
  // If that fails, the file is only longer than needed.
  (void)!::ftruncate(file, static_cast<off_t>(end + 1));
}

}  // namespace

std::string quoted_lines(const std::string& text) {
  std::string lines;
  for (const std::string& line : split(text, '\n')) {
    if (!trim(line).empty()) lines += "| " + line + "\n";
  }
  return printable_lines(lines);
}

namespace {

std::string told_lines(const Stack& stack, std::size_t most_bytes) {
  if (stack.answer == StackAnswer::kTold) {
    std::string text = stack.text;
    // The end, where faulthandler puts the main thread.
    if (text.size() > most_bytes) text.erase(0, text.size() - most_bytes);
    return "answer told\n" + quoted_lines(text);
  }
  return stack.text == "stopped" ? "answer stopped\n" : "answer silent\n";
}

const char* state_word(char state, Activity activity) {
  switch (state) {
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "zombie";
    case 'D':
      return "disk";
    default:
      // The main thread may sleep while others compute.
      return state == 'R' || activity == Activity::kComputes ? "running" : "sleeping";
  }
}

// The collective that the rank has waited in since `before`, if there is one.
std::string wait_lines(const std::vector<CommState>& before, const RankReport& report) {
  std::string lines;
  for (const CommState& comm : report.comms) {
    if (comm.looks == 0 || comm.waits < comm.looks || comm.begun <= comm.completed) continue;
    const bool is_same = std::any_of(before.begin(), before.end(), [&](const CommState& old) {
      return old.id == comm.id && old.completed == comm.completed && old.begun > old.completed;
    });
    if (!is_same) continue;
    lines += fmt::format("waits {} {} {} {} {}\n", comm.opcode, comm.begun, comm.completed,
                         comm.rank, comm.world);
  }
  return lines;
}

}  // namespace

AskedRank::AskedRank(FoundRank found, std::span<const Process> processes,
                     std::chrono::milliseconds now)
    : found_(std::move(found)),
      own_(is_own(found_.pid)),
      observer_(found_.pid),
      file_(found_.stack_path, found_.pid, kAskAnytimeSignal),
      began_(now) {
  RankReport first = observer_.report(number(), processes, {}, now);
  before_ = std::move(first.comms);
  first_cpu_ms_ = first.usage.cpu_ms;
  // Of a program that has changed its user, nothing is asked, even by root.
  if (!own_ || !is_own(process())) {
    own_ = false;
    word_ = Word::kRefused;
    return;
  }
  lock_ = Fd(::open(found_.stack_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!lock_.valid()) word_ = Word::kCannot;
}

void AskedRank::look() {
  observer_.look();
  if (word_ != Word::kWaits) return;
  if (!asked_) {
    // A file system may have no locks; then both ask.
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return;
    shorten(lock_.get());
    asked_ = file_.ask();
    if (!asked_) word_ = Word::kCannot;
  } else if (file_.has_answered() || process_state(file_.answerer()) == ProcessState::kStopped) {
    answer_ = file_.answer(number());
    word_ = Word::kAnswered;
  }
  if (word_ != Word::kWaits) lock_.reset();  // the next asker's turn
}

// For messages that need one.
std::uint32_t AskedRank::number() const {
  return static_cast<std::uint32_t>(std::max(found_.rank, 0));
}

std::string AskedRank::report(std::span<const Process> processes, std::chrono::milliseconds now,
                              std::size_t most_bytes) {
  const RankReport seen = observer_.report(number(), processes, {}, now);
  const RankUsage& last = seen.usage;
  const ProcessUsage first_process = usage_of(found_.pid);
  // A process that has just ended takes its CPU time with it.
  const std::uint64_t used = last.cpu_ms - std::min(last.cpu_ms, first_cpu_ms_);
  const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>((now - began_).count(), 1));
  const auto age = now - std::chrono::milliseconds(milliseconds_of(first_process.start_ticks));
  std::string text = fmt::format("rank {} {} {} {} {} {} {} {} {}\n", found_.rank, process(),
                                 state_word(usage_of(process()).state, seen.activity), last.cpu_ms,
                                 used * 100 / span, last.memory_kib, last.threads,
                                 std::max<std::int64_t>(age.count() / 1000, 0),
                                 printable(program_of_rank(processes, found_.pid)));
  text += wait_lines(before_, seen);
  switch (word_) {
    case Word::kWaits:
      // Without the lock, another asker waits for this rank's answer.
      return text + (asked_ ? told_lines(file_.answer(number()), most_bytes) : "answer busy\n");
    case Word::kAnswered:
      return text + told_lines(answer_, most_bytes);
    case Word::kCannot:
      return text + "answer cannot\n";
    case Word::kRefused:
      return text + "answer refused\n";
  }
  return text;
}

}  // namespace dtl
