#include "launcher/session/job_watch.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "base/text.h"
#include "plan/command_text.h"

namespace dtl {
namespace {

std::string names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return join(names, ",");
}

}  // namespace

JobRecord first_record(const std::string& job_id, const Request& request, bool labelled) {
  JobRecord record;
  record.role = "launcher";
  record.job_id = job_id;
  record.process = identify(::getpid());
  record.host = record.launcher_host = own_host_name();
  record.hosts = request.hosts.empty() ? record.host : names_of(request.hosts);
  for (const Program& program : request.programs) {
    // Any user may see a command in ps, but only while it runs; a kept record stays.
    std::vector<std::string> environment;
    for (const Variables* variables : {program.inherited ? &*program.inherited : &request.inherited,
                                       &request.set, &program.set}) {
      for (const auto& [name, value] : *variables) environment.push_back(name + "=" + value);
    }
    record.command += (record.command.empty() ? "" : " : ") +
                      join(masked_arguments(program.command, environment), " ");
  }
  record.since = std::time(nullptr);
  record.state = state_name(JobState::kStarting);
  record.labelled = labelled;
  return record;
}

JobWatch::JobWatch(JobRecord record, const std::optional<std::string>& kept_folder)
    : record_(std::move(record)) {
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

SessionHooks JobWatch::hooks(std::function<void()> on_started,
                             std::function<void(std::string_view)> on_said) {
  SessionHooks hooks;
  hooks.placed = [this](std::size_t ranks) { record_.ranks = static_cast<int>(ranks); };
  hooks.state = [this](JobState state) {
    record_.state = state_name(state);
    // The short steps before the ranks run would only cost time.
    if (state == JobState::kRunning || state == JobState::kStopping) write();
  };
  hooks.started = std::move(on_started);
  if (log_) {
    hooks.output = [this](const Output& output) {
      const bool out = output.stream == Stream::kStdout;
      keep(out ? LogEntry::Kind::kStdout : LogEntry::Kind::kStderr, static_cast<int>(output.rank),
           output.bytes);
    };
  }
  hooks.said = [this, heard = std::move(on_said)](std::string_view text) {
    keep(LogEntry::Kind::kSaid, 0, text);
    if (heard) heard(text);
  };
  return hooks;
}

void JobWatch::restarting(int restarts, const std::vector<Host>& hosts) {
  record_.restarts = restarts;
  if (!hosts.empty()) record_.hosts = names_of(hosts);
  record_.state = "restarting";
  write();
}

void JobWatch::ended(int exit_status) {
  record_.state = "ended";
  record_.exit_status = exit_status;
  if (!kept_record_.empty()) write_record(kept_record_, record_);
  if (log_) {
    LogEntry last;
    last.kind = LogEntry::Kind::kEnded;
    last.status = exit_status;
    log_->add(last);
  }
  file_.remove();
}

}  // namespace dtl
