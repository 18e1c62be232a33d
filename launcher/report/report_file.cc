// Only its user may read the file, which has commands, paths and an environment. It is written as a
// whole, so nobody reads half of it.
#include "launcher/report/report_file.h"

#include <filesystem>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/job/job_outcome.h"
#include "launcher/report/job_page.h"
#include "launcher/report/report.h"
#include "launcher/session/card_facts.h"

namespace dtl {
namespace {

constexpr int kCardColumns = 100;

std::string page_of(const JobRecord& record, const JobResult& result, const JobSeries& series,
                    int status) {
  const SessionResult& last = result.last;
  JobPage page;
  page.job_id = record.job_id;
  page.command = printable(record.command);
  std::error_code failed;
  page.folder = printable(std::filesystem::current_path(failed).string());
  page.launcher_host = record.launcher_host;
  if (result.epochs.size() > 1) {  // those of the last epoch
    for (const Host& host : last.hosts) page.hosts.push_back(printable(host.name));
  } else {
    for (const std::string& host : split(record.hosts, ',')) page.hosts.push_back(printable(host));
  }
  page.tags = record.tags;
  page.began_ms = record.since * 1000;
  page.exit_status = status;
  page.took_s = seconds(result.epochs.empty() ? last.ended : result.epochs.back().ended);
  page.card = printable_lines(failure_card(*last.job.outcome, card_facts(last), kCardColumns));
  page.report = report_json(result, series);
  return job_page(page);
}

bool is_page_name(const std::string& path) {
  const std::string ending = to_lower(std::filesystem::path(path).extension().string());
  return ending == ".html" || ending == ".htm";
}

}  // namespace

int write_report(const std::string& path, const JobRecord& record, const JobResult& result,
                 const JobSeries& series, int status) {
  if (path.empty()) return status;
  try {
    write_private_file_atomically(path, is_page_name(path) ? page_of(record, result, series, status)
                                                           : report_json(result, series));
  } catch (const Error& error) {
    log_error(error.what());
    return status != 0 ? status : static_cast<int>(error.status());
  }
  return status;
}

}  // namespace dtl
