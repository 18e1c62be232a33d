// dtlaunch logs and attach: the kept output of a detached job, read on the host that launched it.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/screen/line_mixer.h"
#include "launcher/screen/output_writer.h"
#include "launcher/session/kept_log.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

// Shows entries as the job itself would have shown them.
class LogPrinter {
 public:
  LogPrinter(const JobView& job, const JobsCommand& command)
      : rank_(command.rank),
        began_(Clock::now()),
        mixer_(static_cast<std::size_t>(job.ranks), job.labelled || command.label,
               is_one_screen(STDOUT_FILENO, STDERR_FILENO)) {}

  // False when the job's end has been read.
  bool feed(std::string_view bytes) {
    reader_.feed(bytes);
    while (auto entry = reader_.next()) {
      if (entry->kind == LogEntry::Kind::kEnded) {
        status_ = entry->status;
        flush();
        return false;
      }
      show(std::move(*entry));
    }
    flush();
    return true;
  }

  std::optional<int> status() const { return status_; }

 private:
  void show(LogEntry entry) {
    if (entry.kind == LogEntry::Kind::kSaid) {
      if (!rank_) mixer_.say(fmt::format("{}: {}\n", program_name(), printable_lines(entry.bytes)));
      return;
    }
    if (rank_ && entry.rank != *rank_) return;
    if (entry.rank >= ranks_) mixer_.set_ranks(static_cast<std::size_t>(ranks_ = entry.rank + 1));
    const bool out = entry.kind == LogEntry::Kind::kStdout;
    mixer_.feed(entry.rank, out ? Stream::kStdout : Stream::kStderr, std::move(entry.bytes), now());
  }

  // Every entry is shown at once: the kept log has been written long ago, or a moment ago.
  void flush() {
    mixer_.show_partial_lines(now() + std::chrono::hours(1));
    for (const Chunk& chunk : mixer_.take()) {
      write_all(chunk.stream == Stream::kStdout ? STDOUT_FILENO : STDERR_FILENO, chunk.bytes);
    }
  }

  JobTime now() const { return std::chrono::duration_cast<JobTime>(Clock::now() - began_); }

  std::optional<int> rank_, status_;
  Clock::time_point began_;
  LogReader reader_;
  int ranks_ = 0;
  LineMixer mixer_;
};

JobView find(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  JobView job = find_job(list_jobs(command.hosts, start, &failed), command.job);
  if (job.launcher_seen) return job;
  // A worker knows of the job, and where its launcher is.
  auto there = list_jobs({launcher_host_of(job)}, start, &failed);
  return find_job(there, job.id);
}

void require_kept(const JobView& job) {
  if (job.detached) return;
  throw Error(Exit::kBadInput, fmt::format("the output of job {} is not kept", job.id),
              fmt::format("it goes to the terminal or file that its dtlaunch on {} was given",
                          job.launcher_host),
              "start such jobs with: dtlaunch --detach");
}

// The job's exit status once its log has ended without saying so.
int status_by_record(const JobView& job, const StartOptions& start) {
  int failed = 0;
  const auto jobs = list_jobs({launcher_host_of(job)}, start, &failed);
  const JobView& now = find_job(jobs, job.id);
  if (now.ended) return now.exit_status;
  throw Error(Exit::kOs, fmt::format("job {} ended without a word", job.id),
              fmt::format("its dtlaunch on {} was killed; the agents have ended the ranks",
                          now.launcher_host));
}

// A reader that goes away (`| head`) is no failure.
void follow(const JobView& job, const StartOptions& start, const std::vector<std::string>& question,
            LogPrinter& printer) {
  bool reader_gone = false;
  follow_answer(launcher_host_of(job), start, question, [&](std::string_view bytes) {
    try {
      return printer.feed(bytes);
    } catch (const Error& error) {
      if (error.status() != Exit::kIo) throw;
      reader_gone = true;
      return false;
    }
  });
  if (reader_gone) throw Error(Exit::kIo, "cannot write", "nobody reads standard output any more");
}

}  // namespace

int show_logs(const JobsCommand& command, const StartOptions& start) {
  const JobView job = find(command, start);
  require_kept(job);
  LogPrinter printer(job, command);
  std::vector<std::string> question = {"--log", job.id};
  if (command.follow) question.emplace_back("--follow");
  follow(job, start, question, printer);
  return 0;
}

int attach(const JobsCommand& command, const StartOptions& start) {
  const JobView job = find(command, start);
  require_kept(job);
  if (job.ended) {
    log_notice(fmt::format("job {} has ended, with status {}; its output: dtlaunch logs {}", job.id,
                           job.exit_status, job.id.substr(0, 4)));
    return job.exit_status;
  }
  log_notice(fmt::format("attached to job {}; ^C leaves it alone and running", job.id));
  LogPrinter printer(job, command);
  std::vector<std::string> question(4);
  question = {"--log", job.id, "--follow", "--from-end"};
  follow(job, start, question, printer);
  return printer.status() ? *printer.status() : status_by_record(job, start);
}

}  // namespace dtl
