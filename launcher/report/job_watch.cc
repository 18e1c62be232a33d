// The record has two copies: one in the user's runtime folder while the job runs, and, for a
// detached job, one that stays.
#include "launcher/report/job_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/report/job_identity.h"

namespace dtl {
namespace {

// A line of `ps -v` about an epoch that has ended: "rank 3 on n2 after 12.3 s: rank-signal SIGKILL;
// left out n2"
std::string describe_epoch(const Epoch& epoch) {
  const Outcome& outcome = epoch.end.outcome;
  std::string text = outcome.rank >= 0   ? fmt::format("rank {}", outcome.rank)
                     : outcome.node >= 0 ? "the agent"
                                         : "dtlaunch";
  if (!epoch.host.empty()) text += " on " + epoch.host;
  text += fmt::format(" after {:.1f} s: {}",
                      static_cast<double>((epoch.ended - epoch.began).count()) / 1000,
                      cause_name(outcome.cause));
  if (outcome.signal != 0) {
    text += " " + signal_name(outcome.signal);
    // Its status means nothing: the ranks were stopped to go on with other hosts.
  } else if (outcome.cause != Cause::kHostsChanged) {
    text += fmt::format(" {}", outcome.exit_status);
  }
  if (epoch.elastic && epoch.ranks > 0)
    text += fmt::format("; had {}", plural(epoch.ranks, "rank"));
  if (!epoch.left_out.empty()) text += "; left out " + join(epoch.left_out, ",");
  return text;
}

}  // namespace

JobWatch::JobWatch(JobRecord record, const std::optional<std::string>& kept_folder)
    : record_(std::move(record)) {
  // For a detached job this is the keeper, not the process that described the job.
  record_.process = identify(::getpid());
  record_.detached = kept_folder.has_value();
  if (kept_folder) {
    kept_record_ = *kept_folder + "/" + kKeptRecord;
    log_.emplace(*kept_folder);
  }
  write();
}

void JobWatch::write() {
  file_.write(record_);
  if (!kept_record_.empty()) write_record(kept_record_, record_);
}

void JobWatch::keep(LogEntry::Kind kind, int rank, std::string_view bytes) {
  if (!log_) return;
  LogEntry entry;
  entry.kind = kind;
  entry.rank = rank;
  entry.bytes = bytes;
  log_->add(entry);
}

SessionHooks JobWatch::hooks(Listeners listeners) {
  SessionHooks hooks;
  // Written with the next state.
  hooks.placed = [this](std::size_t ranks) { record_.ranks = static_cast<int>(ranks); };
  hooks.state = [this, waits = std::move(listeners.waits)](JobState state) {
    record_.state = state_name(state);
    const bool is_waiting = record_.state == kWaitingState;
    // Skips the short states before the ranks run, to save time.
    if (is_waiting || state == JobState::kRunning || state == JobState::kStopping) write();
    if (is_waiting && waits) waits();
  };
  // While the job is stopped, its record must say so.
  hooks.stopped = [this, before = std::string()](bool stops) mutable {
    if (stops) before = record_.state;
    record_.state = stops ? "stopped" : before;
    write();
  };
  hooks.started = std::move(listeners.started);
  if (log_) {
    // Without a log the session need not call us for each piece of output.
    hooks.output = [this](const Output& output) {
      const bool out = output.stream == Stream::kStdout;
      keep(out ? LogEntry::Kind::kStdout : LogEntry::Kind::kStderr, static_cast<int>(output.rank),
           output.bytes);
    };
  }
  hooks.said = [this, heard = std::move(listeners.said)](std::string_view text) {
    keep(LogEntry::Kind::kSaid, 0, text);
    if (heard) heard(text);
  };
  return hooks;
}

void JobWatch::restarting(int restarts, const std::vector<Host>& hosts, const Epoch& ended) {
  constexpr std::size_t kMostEpochs = 8;  // the report has all of them
  record_.restarts = restarts;
  record_.epochs.push_back(fmt::format("{}: {}", restarts, describe_epoch(ended)));
  if (!hosts.empty()) record_.epochs.back() += "; on with " + join_names(hosts);
  if (record_.epochs.size() > kMostEpochs) record_.epochs.erase(record_.epochs.begin());
  if (!hosts.empty()) record_.hosts = join_names(hosts);
  record_.state = "restarting";
  write();
}

void JobWatch::running_again(JobTime lost) {
  if (record_.epochs.empty()) return;
  record_.epochs.back() += fmt::format("; {:.1f} s lost", static_cast<double>(lost.count()) / 1000);
  write();
}

void JobWatch::ended(int exit_status) {
  record_.state = "ended";
  record_.exit_status = exit_status;
  if (!kept_record_.empty()) write_record(kept_record_, record_);
  if (log_) {
    LogEntry last;
    // `logs -f` ends at it.
    last.kind = LogEntry::Kind::kEnded;
    last.status = exit_status;
    log_->add(last);
  }
  file_.remove();
}

}  // namespace dtl
