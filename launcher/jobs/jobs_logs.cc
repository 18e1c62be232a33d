// dtlaunch logs and attach: the kept output of a detached job, read on its launcher's host. They
// continue after lost connections, from the last file and offset.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/report/kept_log.h"
#include "launcher/screen/line_mixer.h"
#include "launcher/screen/output_writer.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

// Shows entries as the job itself would, with the same LineMixer.
class LogPrinter {
 public:
  LogPrinter(const JobView& job, const JobsCommand& command)
      : rank_(command.rank),
        began_(Clock::now()),
        ranks_(job.record.ranks),
        mixer_(static_cast<std::size_t>(job.record.ranks), job.record.labelled || command.label,
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
  // The next byte begins an entry: drops the part of one that was read before.
  void skip_to_entry() { reader_ = {}; }

 private:
  void show(LogEntry entry) {
    if (entry.kind == LogEntry::Kind::kSaid) {
      // With --rank the user wants only that rank's output, without dtlaunch's messages.
      if (!rank_) mixer_.say(fmt::format("{}: {}\n", program_name(), printable_lines(entry.bytes)));
      return;
    }
    if (rank_ && entry.rank != *rank_) return;
    if (entry.rank >= ranks_) mixer_.set_ranks(static_cast<std::size_t>(ranks_ = entry.rank + 1));
    const bool out = entry.kind == LogEntry::Kind::kStdout;
    mixer_.feed(entry.rank, out ? Stream::kStdout : Stream::kStderr, std::move(entry.bytes), now());
  }

  // Shows unfinished lines at once, because the log is not live output.
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
  int ranks_;  // known to the mixer; a restart may have more than the record says
  LineMixer mixer_;
};

// Several jobs may begin in one second, and their processes in one clock tick.
auto begin_of(const JobRecord& record) {
  return std::tie(record.since, record.process.start_time, record.process.pid);
}

// Of the jobs that this machine has started; homes may be shared.
std::string newest_kept_job() {
  constexpr std::size_t kMostRecord = 64 << 10;
  std::optional<JobRecord> newest;
  std::error_code failed;
  for (const auto& folder : std::filesystem::directory_iterator(kept_jobs_folder(), failed)) {
    try {
      auto record = parse_job_record(read_file(folder.path() / kKeptRecord, kMostRecord));
      if (!record || record->host != own_host_name()) continue;
      if (!newest || begin_of(*record) > begin_of(*newest)) newest = std::move(record);
    } catch (const Error&) {  // without a record, the folder is not a job's
      continue;
    }
  }
  if (newest) return newest->job_id;
  throw file_error(kept_jobs_folder(), "", "this machine keeps the output of no detached job",
                   "dtlaunch logs -hosts HOST JOB, for a job of another host");
}

JobView find(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  const std::string wanted = command.job.empty() ? newest_kept_job() : command.job;
  JobView job = find_job(list_jobs(command.hosts, start, &failed), wanted);
  if (job.launcher_seen) return job;
  // A worker knows the job and its launcher's host.
  auto there = list_jobs({launcher_host_of(job)}, start, &failed);
  // By the whole id: the user's prefix may match more jobs there.
  return find_job(there, job.id);
}

void require_kept(const JobView& job) {
  if (job.record.detached) return;
  throw file_error(fmt::format("job {}", job.id), "",
                   fmt::format("its output is not kept: it goes to the terminal or file of its "
                               "dtlaunch on {}",
                               job.launcher_host),
                   "dtlaunch --detach, for jobs whose output is wanted later");
}

// After a restart, earlier epochs may have had ranks that the record no longer counts.
void check_rank(const JobsCommand& command, const JobView& job) {
  const int ranks = job.record.ranks;
  if (!command.rank || *command.rank < ranks || ranks == 0 || job.record.restarts > 0) return;
  throw file_error(fmt::format("--rank {}", *command.rank), "",
                   ranks == 1 ? fmt::format("job {} has rank 0 alone", job.id)
                              : fmt::format("job {} has the ranks 0 to {}", job.id, ranks - 1),
                   ranks == 1 ? "--rank 0" : fmt::format("--rank {}", ranks - 1));
}

// The job's exit status if its log ended without it: from the record; if it has none, the launcher
// was killed.
int status_by_record(const JobView& job, const StartOptions& start) {
  int failed = 0;
  const auto jobs = list_jobs({launcher_host_of(job)}, start, &failed);
  const JobView& now = find_job(jobs, job.id);
  if (now.ended) return now.record.exit_status;
  throw Error(Exit::kOs, fmt::format("job {}", job.id),
              fmt::format("its dtlaunch on {} was killed; the agents have ended the ranks",
                          now.launcher_host));
}

// Reads one job's log, over as many connections as needed.
class Following {
 public:
  // `found`: a line for the user once the log is open; empty: none.
  Following(const JobView& job, const StartOptions& start, const JobsCommand& command,
            std::vector<std::string> question, std::string found = {})
      : host_(launcher_host_of(job)),
        start_(start),
        patience_(command.reconnect),
        question_(std::move(question)),
        printer_(job, command),
        found_(std::move(found)) {}

  // Until the job's end, or the log's current end. Returns the job's exit status if the log has it.
  std::optional<int> run() {
    while (!follow_once()) look_for_host();
    if (reader_gone_) {
      throw Error(Exit::kIo, "cannot write", "nobody reads standard output any more");
    }
    return printer_.status();
  }

 private:
  // False: the connection was lost.
  bool follow_once() {
    head_.clear();
    begun_ = false;
    try {
      follow_answer(host_, start_, words(), [&](std::string_view bytes) { return take(bytes); });
      return true;
    } catch (const Error& error) {
      // Retry only errors that may pass, and only if the log was found once: a wrong host must fail
      // at once.
      const bool lost = error.status() == Exit::kUnreachable || error.status() == Exit::kTryAgain;
      if (!lost || file_.empty() || patience_.count() == 0) throw;
      // The log was found again since the last loss, so the full patience applies again.
      if (begun_) lost_.reset();
      if (!lost_) {
        lost_ = Clock::now();
        pause_ = kFirstRejoinPause;
        log_notice(fmt::format("{}: connection lost, looking for it for up to {:g} s", host_.name,
                               std::chrono::duration<double>(patience_).count()));
      }
      if (Clock::now() < *lost_ + patience_) return false;
      throw Error(Exit::kUnreachable,
                  fmt::format("{}: not found again, and the job's dtlaunch runs there", host_.name),
                  error.reason().empty() ? error.attempted() : error.reason(),
                  "the same command again once it answers");
    }
  }

  std::vector<std::string> words() const {
    if (file_.empty()) return question_;
    std::vector<std::string> words = question_;
    // The position is known now, and nothing after it may be skipped.
    std::erase(words, "--from-end");
    words.insert(words.end(), {"--after", fmt::format("{}:{}", file_, offset_)});
    return words;
  }

  void look_for_host() {
    std::this_thread::sleep_for(
        std::min<Clock::duration>(pause_, *lost_ + patience_ - Clock::now()));
    pause_ = std::min<Clock::duration>(2 * pause_, kLongestRejoinPause);
  }

  // The first line gives the offset of the following bytes. A reader that is gone, such as `head`,
  // is not a failed connection.
  bool take(std::string_view bytes) {
    std::string rest(bytes);
    if (!begun_) {
      head_ += bytes;
      const std::size_t end = head_.find('\n');
      if (end == head_.npos) return head_.size() < kMostHead;
      begin_at(head_.substr(0, end));
      rest = head_.substr(end + 1);
    }
    offset_ += rest.size();
    try {
      return printer_.feed(rest);
    } catch (const Error& error) {
      if (error.status() != Exit::kIo) throw;
      reader_gone_ = true;
      return false;
    }
  }

  void begin_at(const std::string& line) {
    const auto words = split(line, ' ');
    const auto place = words.size() == 2 ? split(words[1], ':') : std::vector<std::string>();
    const auto offset = place.size() == 2 ? parse_integer(place[1], 0, INT64_MAX) : std::nullopt;
    if (!offset)
      throw Error(Exit::kVersion, host_.name + ": cannot read the kept output", printable(line));
    begun_ = true;
    if (!found_.empty()) log_notice(std::exchange(found_, {}));
    if (lost_) {
      log_notice(
          fmt::format("{}: found again after {} s", host_.name,
                      std::chrono::round<std::chrono::seconds>(Clock::now() - *lost_).count()));
      lost_.reset();
    }
    if (words[0] == "gap") {
      log_notice("some of the output is not kept any more, and is left out here");
      // Half an entry may have been read before the gap.
      printer_.skip_to_entry();
    }
    file_ = place[0];
    offset_ = static_cast<std::uint64_t>(*offset);
  }

  // dtagent's first line is never longer.
  static constexpr std::size_t kMostHead = 100;

  const Host host_;
  const StartOptions& start_;
  const std::chrono::milliseconds patience_;
  const std::vector<std::string> question_;
  LogPrinter printer_;
  std::string found_;
  std::string head_;  // the answer, up to the end of its first line
  bool begun_ = false;
  std::string file_;  // the file and the offset shown so far; empty: unknown yet
  std::uint64_t offset_ = 0;
  std::optional<Clock::time_point> lost_;
  Clock::duration pause_{};
  bool reader_gone_ = false;
};

}  // namespace

int show_logs(const JobsCommand& command, const StartOptions& start) {
  const JobView job = find(command, start);
  require_kept(job);
  check_rank(command, job);
  std::vector<std::string> question = {"--log", job.id};
  if (command.follow) question.emplace_back("--follow");
  Following(job, start, command, std::move(question)).run();
  return 0;
}

int attach(const JobsCommand& command, const StartOptions& start) {
  const JobView job = find(command, start);
  require_kept(job);
  // The job has ended, so there is nothing to follow, and the log may be long.
  if (job.ended) {
    log_notice(fmt::format("job {} has ended, with status {}; its output: dtlaunch logs {}", job.id,
                           job.record.exit_status, job.id.substr(0, 4)));
    return job.record.exit_status;
  }
  // Does not pass signals on: the job belongs to its own dtlaunch.
  Following following(job, start, command, {"--log", job.id, "--follow", "--from-end"},
                      fmt::format("attached to job {}; ^C leaves it alone and running", job.id));
  const auto status = following.run();
  return status ? *status : status_by_record(job, start);
}

}  // namespace dtl
