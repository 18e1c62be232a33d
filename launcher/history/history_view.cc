// Texts in a record are printable already. A report is read with care: another version of dtlaunch
// may have written it.
#include "launcher/history/history_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/report/job_page.h"
#include "launcher/screen/json_answer.h"

namespace dtl {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string local_text(std::int64_t ms, const char* format) {
  const std::time_t moment = ms / 1000;
  std::tm date{};
  char text[32];
  if (::localtime_r(&moment, &date) == nullptr) return "?";
  return {text, std::strftime(text, sizeof text, format, &date)};
}

// "0.4s", "12s", "2h05m"
std::string duration_text(std::int64_t ms) {
  constexpr std::int64_t kWithTenths = 10'000;
  const std::int64_t positive = std::max<std::int64_t>(ms, 0);  // a clock may have been set back
  if (positive < kWithTenths) return fmt::format("{:.1f}s", static_cast<double>(positive) / 1000);
  return age_text(positive / 1000);
}

// How long it ran, or runs; "-" if nobody knows.
std::string took_text(const JobSeen& job, std::int64_t now_ms) {
  if (job.record.took_ms) return duration_text(*job.record.took_ms);
  const bool lasts = job.status == HistoryStatus::kRunning || job.status == HistoryStatus::kWaiting;
  if (!lasts) return "-";
  return duration_text(now_ms - job.record.began_ms);
}

// At most `width` characters of UTF-8; a '>' at the end shows that text was cut.
std::string fit_text(const std::string& text, std::size_t width) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  const auto characters = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
  if (characters <= width) return text;
  std::size_t end = 0, kept = 0;
  for (; end < text.size(); ++end) {
    if (begins(text[end]) && ++kept == width) break;
  }
  return text.substr(0, end) + ">";
}

OrderedJson record_json(const JobSeen& job) {
  const HistoryRecord& record = job.record;
  const bool is_over = job.status == HistoryStatus::kEnded;
  OrderedJson json;
  json["job"] = record.job_id;
  json["status"] = is_over ? "ended" : status_text(record, job.status);
  if (is_over) {
    json["exit_status"] = record.exit_status;
    json["cause"] = record.cause;
  }
  json["began"] = utc_text(record.began_ms / 1000);
  if (record.took_ms) json["seconds"] = static_cast<double>(*record.took_ms) / 1000;
  if (record.ranks > 0) json["ranks"] = record.ranks;
  json["hosts"] = record.hosts;
  json["command"] = record.command;
  json["folder"] = record.folder;
  json["tags"] = record.tags;
  json["detached"] = record.detached;
  if (!record.outer_job.empty()) json["outer_job"] = record.outer_job;
  if (!record.log_directory.empty()) json["log_dir"] = record.log_directory;
  if (!record.kept_folder.empty()) json["kept_log"] = record.kept_folder + "/" + kKeptLog;
  if (!record.report_file.empty()) json["report_file"] = record.report_file;
  return json;
}

// Not well-formed text, of a damaged file, must not stop the rest.
std::string dumped(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string line_of(const char* name, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<10} {}\n", name, text);
}

std::string indented_lines(const std::string& title, const std::string& text) {
  if (text.empty()) return {};
  std::string lines = "\n" + title + "\n";
  for (const std::string& line : split(trim(text), '\n')) lines += "  " + line + "\n";
  return lines;
}

template <class T>
T field(const OrderedJson& json, const char* name, T otherwise) {
  const auto at = json.find(name);
  if (at == json.end()) return otherwise;
  try {
    return at->template get<T>();
  } catch (const OrderedJson::exception&) {
    return otherwise;
  }
}

std::string epoch_line(const OrderedJson& epoch, std::size_t number) {
  std::string text = fmt::format("epoch {}: {:.1f} s to {:.1f} s", number,
                                 field(epoch, "began_s", 0.0), field(epoch, "ended_s", 0.0));
  if (const int ranks = field(epoch, "world_size", 0); ranks > 0) {
    text += fmt::format(", {}", plural(ranks, "rank"));
  }
  text += fmt::format(": {}", printable(field<std::string>(epoch, "cause", "?")));
  if (const int rank = field(epoch, "rank", -1); rank >= 0) text += fmt::format(", rank {}", rank);
  const auto host = field<std::string>(epoch, "host", {});
  if (!host.empty()) text += " on " + printable(host);
  return text + "\n";
}

// The phases of the last epoch, and all epochs if there were several.
std::string timeline(const std::string& report) {
  const OrderedJson json = OrderedJson::parse(report, nullptr, false);
  if (!json.is_object()) return {};
  std::vector<std::string> phases;
  if (const auto seconds = json.find("seconds"); seconds != json.end() && seconds->is_object()) {
    for (const auto& [name, value] : seconds->items()) {
      if (!value.is_number()) continue;
      phases.push_back(fmt::format("{} {:.2f} s", printable(name), value.get<double>()));
    }
  }
  std::string text = phases.empty() ? "" : join(phases, ", ") + "\n";
  if (const auto epochs = json.find("epochs"); epochs != json.end() && epochs->is_array()) {
    std::size_t number = 0;
    for (const OrderedJson& epoch : *epochs) {
      if (epoch.is_object()) text += epoch_line(epoch, number++);
    }
  }
  return text;
}

std::string full_status(const JobSeen& job) {
  const std::string text = status_text(job.record, job.status);
  if (job.status == HistoryStatus::kLost) return text + ": its launcher was killed";
  if (job.status == HistoryStatus::kUnknown) return text + ": its launcher is in another container";
  if (job.status == HistoryStatus::kRunning) return text;
  return fmt::format("exit {} ({})", job.record.exit_status, job.record.cause);
}

}  // namespace

std::string history_table(const std::vector<JobSeen>& jobs, std::int64_t now_ms,
                          std::optional<int> columns) {
  // On a terminal, as many digits of the id as a command needs.
  std::size_t id = 8, status = 8, hosts = 12, command = std::string::npos;
  constexpr std::size_t kBeforeCommand = 62;
  if (columns) {
    command = static_cast<std::size_t>(std::max(*columns, 80)) - kBeforeCommand;
  } else {
    id = 16;
    for (const JobSeen& job : jobs) hosts = std::max(hosts, fold_hosts(job.record.hosts).size());
  }
  std::string text =
      fmt::format("{:<{}} {:<{}} {:<16} {:>6} {:>5} {:<{}} {}\n", "JOB", id, "STATUS", status,
                  "BEGAN", "TOOK", "RANKS", "HOSTS", hosts, "COMMAND");
  for (const JobSeen& job : jobs) {
    const HistoryRecord& record = job.record;
    text += fmt::format("{:<{}} {:<{}} {:<16} {:>6} {:>5} {:<{}} {}\n", record.job_id.substr(0, id),
                        id, status_text(record, job.status), status,
                        local_text(record.began_ms, "%Y-%m-%d %H:%M"), took_text(job, now_ms),
                        record.ranks > 0 ? std::to_string(record.ranks) : "-",
                        fit_text(fold_hosts(record.hosts), hosts), hosts,
                        columns ? fit_text(record.command, command) : record.command);
  }
  return text;
}

std::string history_json(const std::vector<JobSeen>& jobs) {
  OrderedJson json = {{"jobs", OrderedJson::array()}};
  for (const JobSeen& job : jobs) json["jobs"].push_back(record_json(job));
  return json_answer("history", dumped(json));
}

std::string job_text(const JobSeen& job, std::int64_t now_ms) {
  const HistoryRecord& record = job.record;
  std::string text = line_of("job", record.job_id) + line_of("status", full_status(job)) +
                     line_of("command", record.command) + line_of("folder", record.folder) +
                     line_of("began", local_text(record.began_ms, "%Y-%m-%d %H:%M:%S"));
  const std::string took = took_text(job, now_ms);
  if (took != "-") {
    text += line_of(job.status == HistoryStatus::kRunning ? "since" : "took", took);
  }
  if (record.ranks > 0) text += line_of("ranks", std::to_string(record.ranks));
  text += line_of("hosts", fold_hosts(record.hosts)) + line_of("tags", join(record.tags, ", ")) +
          line_of("part of", record.outer_job);
  if (record.detached) text += line_of("output", "dtlaunch logs " + record.job_id.substr(0, 8));
  if (!record.kept_folder.empty()) text += line_of("kept in", record.kept_folder);
  if (!record.log_directory.empty()) {
    text += line_of("log-dir", record.log_directory + "/" + record.job_id + " on each host");
  }
  return text + line_of("report", record.report_file) +
         indented_lines("How it failed", record.card) +
         indented_lines("Time", timeline(record.report)) + indented_lines("Plan", record.plan);
}

std::string job_html(const JobSeen& job) {
  const HistoryRecord& record = job.record;
  const bool is_over = job.status == HistoryStatus::kEnded;
  JobPage page;
  page.job_id = record.job_id;
  page.command = record.command;
  page.folder = record.folder;
  page.launcher_host = own_host_name();  // each host has its own history
  page.hosts = record.hosts;
  page.tags = record.tags;
  page.began_ms = record.began_ms;
  page.status = is_over ? "ended" : status_text(record, job.status);
  page.exit_status = record.exit_status;
  if (record.took_ms) page.took_s = static_cast<double>(*record.took_ms) / 1000;
  page.card = record.card;
  page.report = record.report;
  return job_page(page);
}

std::string job_json(const JobSeen& job) {
  OrderedJson json = record_json(job);
  json["card"] = job.record.card;
  json["plan"] = job.record.plan;
  json["report"] = nullptr;
  OrderedJson report = OrderedJson::parse(job.record.report, nullptr, false);
  if (!report.is_discarded()) json["report"] = std::move(report);
  return json_answer("show", dumped(json));
}

}  // namespace dtl
