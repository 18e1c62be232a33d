// Without a file, no job has been recorded here: an empty list, but no job to show.
#include "launcher/history/history_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/history/history_store.h"
#include "launcher/history/history_view.h"
#include "launcher/history/since.h"
#include "launcher/options/jobs_options.h"
#include "launcher/screen/output_writer.h"

namespace dtl {
namespace {

constexpr std::size_t kScreenful = 20;

std::int64_t now_in_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_waiting(const std::string& job_id) {
  const auto records = records_here();
  return std::any_of(records.begin(), records.end(), [&](const RecordFile& file) {
    return file.record.job_id == job_id && file.record.role == "launcher" &&
           file.record.state == kWaitingState;
  });
}

JobSeen seen(HistoryRecord record) {
  HistoryStatus status = status_of(record);
  if (status == HistoryStatus::kRunning && is_waiting(record.job_id)) {
    status = HistoryStatus::kWaiting;
  }
  return {std::move(record), status};
}

std::int64_t since_ms(const SubcommandOptions& options) {
  if (options.since.empty()) return 0;
  if (const auto since = parse_since(options.since, now_in_ms())) return *since;
  throw as_typed(option_error("--since", "not a time (2h, 3d, 2026-11-28, \"2026-11-28 14:00\")",
                              "dtlaunch history --since 2d"),
                 options.typed);
}

int list_history(const SubcommandOptions& options) {
  refuse_words("history", options);
  HistoryQuery query;
  query.since_ms = since_ms(options);
  query.failed = options.failed;
  const bool all = options.all || !options.since.empty();
  // One more shows whether there are more.
  if (!all) query.most = kScreenful + 1;
  std::vector<JobSeen> jobs;
  if (const auto store = HistoryStore::for_reading(history_path())) {
    for (HistoryRecord& record : store->list(query)) jobs.push_back(seen(std::move(record)));
  }
  const bool more = query.most && jobs.size() > kScreenful;
  if (more) jobs.erase(jobs.begin());
  if (options.json) {
    write_all(STDOUT_FILENO, history_json(jobs));
    return 0;
  }
  std::optional<int> columns;  // readers of a pipe want nothing cut
  if (::isatty(STDOUT_FILENO) != 0) columns = terminal_columns(STDOUT_FILENO);
  write_all(STDOUT_FILENO, history_table(jobs, now_in_ms(), columns));
  if (more) {
    log_notice(fmt::format("the newest {} jobs; all of them: dtlaunch history --all{}", kScreenful,
                           options.failed ? " --failed" : ""));
  }
  return 0;
}

std::string find_recorded(const HistoryStore& store, const std::string& prefix) {
  const std::vector<std::string> ids = store.find(prefix, 2);
  if (ids.size() == 1) return ids[0];
  const std::string where = prefix.empty() ? history_path() : "job " + prefix;
  if (ids.size() > 1) {
    throw file_error(where, "",
                     fmt::format("{} and {} begin with it; give more digits", ids[0], ids[1]),
                     "dtlaunch history");
  }
  throw file_error(
      where, "",
      prefix.empty() ? "no job has been recorded yet" : "not in the history of this machine",
      "dtlaunch history --all");
}

int show_job(const SubcommandOptions& options) {
  if (options.json && !options.html.empty()) {
    throw as_typed(option_error("--html", "--json prints another form of the same job",
                                "dtlaunch show --html job.html"),
                   options.typed);
  }
  const std::string prefix = take_job("show", options);
  const auto store = HistoryStore::for_reading(history_path());
  std::optional<HistoryRecord> record;
  if (store) record = store->read(find_recorded(*store, prefix));
  if (!record) {  // no file, or another launcher has just removed the job
    throw file_error(prefix.empty() ? history_path() : "job " + prefix, "",
                     "no such job in the history of this machine", "dtlaunch history --all");
  }
  const JobSeen job = seen(std::move(*record));
  if (!options.html.empty()) {
    write_private_file_atomically(options.html, job_html(job));
    return 0;
  }
  write_all(STDOUT_FILENO, options.json ? job_json(job) : job_text(job, now_in_ms()));
  return 0;
}

}  // namespace

int run_history_command(const std::string& name, const std::vector<std::string>& arguments) {
  const SubcommandOptions options = parse_subcommand(name, arguments);
  if (options.help) {
    write_all(STDOUT_FILENO, jobs_help(name));
    return 0;
  }
  return name == "history" ? list_history(options) : show_job(options);
}

}  // namespace dtl
