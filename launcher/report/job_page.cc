// The page from top to bottom, a function for each part.
#include "launcher/report/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/page/report_html.h"
#include "base/page/report_parts.h"
#include "base/page/report_text.h"
#include "base/text.h"
#include "launcher/report/job_charts.h"
#include "launcher/report/job_page_text.h"
#include "launcher/report/reported_job.h"

namespace dtl {
namespace {

constexpr std::size_t kTitleCharacters = 120;
constexpr std::size_t kMostRows = 256;  // of ranks; a page with all of 65,535 would open slowly
constexpr std::size_t kMostLanes = 20;  // epochs of the timeline

void add(NamedTexts& rows, const std::string& name, const std::string& text) {
  if (!text.empty()) rows.emplace_back(name, text);
}

// Cut at a character of UTF-8.
std::string title_of(const JobPage& page) {
  if (page.command.empty()) return "job " + page.job_id;
  std::size_t end = std::min(kTitleCharacters, page.command.size());
  if (end == page.command.size()) return page.command;
  while (end > 0 && (static_cast<unsigned char>(page.command[end]) & 0xc0) == 0x80) --end;
  return page.command.substr(0, end) + "...";
}

std::string verdict_html(const JobPage& page, const ReportedJob& job) {
  const bool good = page.status == "ended" && page.exit_status == 0;
  const bool bad = page.status == "lost" || (page.status == "ended" && !good);
  return fmt::format("<p class=\"verdict {}\">{}</p>\n",
                     good  ? "good"
                     : bad ? "bad"
                           : "",
                     html_text(verdict_words(page, job)));
}

NamedTexts job_rows(const JobPage& page, const ReportedJob& job) {
  NamedTexts rows;
  add(rows, "job", page.job_id);
  add(rows, "command", page.command);
  add(rows, "folder", page.folder);
  add(rows, "launcher", page.launcher_host);
  add(rows, "began", page.began_ms != 0 ? local_date(page.began_ms) : "");
  if (page.took_s) add(rows, "took", time_words(*page.took_s));
  if (page.status == "ended") add(rows, "exit status", std::to_string(page.exit_status));
  add(rows, "cause", job.end.cause);
  add(rows, "hosts", fold_hosts(page.hosts));
  if (job.world_size > 0) add(rows, "ranks", std::to_string(job.world_size));
  if (job.epochs.size() > 1) add(rows, "restarts", std::to_string(job.epochs.size() - 1));
  add(rows, "tags", join(page.tags, ", "));
  add(rows, "ranks meet at", job.master);
  if (job.dropped_bytes > 0) add(rows, "output not read in time", size_words(job.dropped_bytes));
  return rows;
}

// ---- time

ReportLane phases_lane(const ReportedJob& job) {
  const bool several = job.epochs.size() > 1;
  ReportLane lane;
  lane.name =
      several ? fmt::format("phases of the last epoch ({})", job.epochs.size() - 1) : "phases";
  double at = job.epochs.empty() ? 0 : job.epochs.back().began;
  for (const auto& [name, seconds] : job.phases) {
    lane.spans.push_back({at, at + seconds, name});
    at += seconds;
  }
  return lane;
}

void add_epochs(const ReportedJob& job, ReportTimeline& timeline) {
  // The first and the last ones matter most.
  const std::size_t count = job.epochs.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostLanes && i >= kMostLanes / 2 && i < count - kMostLanes / 2) continue;
    const ReportedEpoch& epoch = job.epochs[i];
    ReportLane lane;
    lane.name = fmt::format("epoch {}: {}", i, fold_hosts(epoch.hosts));
    if (epoch.ranks > 0) lane.name += fmt::format(", {}", plural(epoch.ranks, "rank"));
    const std::string failure = failure_words(epoch.end);
    lane.spans.push_back({epoch.began, epoch.ended, i + 1 < count ? "epoch" : "last epoch"});
    timeline.lanes.push_back(std::move(lane));
    if (failure.empty()) continue;
    ReportMark mark{epoch.ended, fmt::format("epoch {} ended: {}", i, failure)};
    if (!epoch.left_out.empty()) mark.text += "; left out " + fold_hosts(epoch.left_out);
    if (epoch.lost > 0) mark.text += fmt::format("; {} lost", time_words(epoch.lost));
    if (!epoch.not_started_again.empty()) {
      mark.text += "; not started again: " + epoch.not_started_again;
    }
    timeline.marks.push_back(std::move(mark));
  }
}

// The first rank that ended by itself with a failure.
void add_first_failure(const ReportedJob& job, ReportTimeline& timeline) {
  const ReportedRank* first = nullptr;
  for (const ReportedRank& rank : job.ranks) {
    const bool failed = rank.ended && rank.status.value_or(0) != 0 && !rank.ended_by_us;
    if (failed && (first == nullptr || *rank.ended < *first->ended)) first = &rank;
  }
  if (first == nullptr) return;
  timeline.marks.push_back(
      {*first->ended, fmt::format("the first failure: rank {} on {}: {}", first->rank, first->host,
                                  end_words(*first))});
}

std::string time_html(const ReportedJob& job) {
  ReportTimeline timeline;
  timeline.end = job.total;
  if (job.epochs.size() > 1) add_epochs(job, timeline);
  if (!job.phases.empty()) timeline.lanes.push_back(phases_lane(job));
  // With several epochs the marks of these say it.
  if (job.epochs.size() <= 1) add_first_failure(job, timeline);
  return timeline_html("Time", timeline);
}

// ---- what ranks used

std::string charts_html(const ReportedJob& job) {
  std::string html = job_charts_html(job);
  if (job.series.contains("cpu_cores")) return html;
  const bool started = std::any_of(job.ranks.begin(), job.ranks.end(),
                                   [](const ReportedRank& rank) { return rank.started; });
  if (!started) return html;
  return html +
         "<p>Curves of CPU and memory are missing: the ranks ended before their agents had "
         "reported "
         "them twice, or an older dtlaunch ran the job.</p>\n";
}

// "Most CPU time: rank 3 on node2, 12.3 s; least: rank 0 on node1, 10.1 s."
template <typename Value, typename Words>
std::string extremes(const ReportedJob& job, const char* what, Value value, Words words) {
  const ReportedRank *most = nullptr, *least = nullptr;
  for (const ReportedRank& rank : job.ranks) {
    if (!value(rank)) continue;
    if (most == nullptr || *value(rank) > *value(*most)) most = &rank;
    if (least == nullptr || *value(rank) < *value(*least)) least = &rank;
  }
  if (most == nullptr || most == least) return {};
  const auto one = [&](const ReportedRank& rank) {
    return fmt::format("rank {} on {}, {}", rank.rank, rank.host, words(*value(rank)));
  };
  return fmt::format("<li>most {}: {}; least: {}</li>\n", what, html_text(one(*most)),
                     html_text(one(*least)));
}

std::string extremes_html(const ReportedJob& job) {
  const std::string items =
      extremes(
          job, "CPU time", [](const ReportedRank& rank) { return rank.cpu_s; }, time_words) +
      extremes(
          job, "memory", [](const ReportedRank& rank) { return rank.max_rss_kib; },
          [](double kib) { return size_words(kib * 1024); }) +
      extremes(
          job, "output", [](const ReportedRank& rank) { return rank.output_bytes; }, size_words);
  return items.empty() ? items : "<ul>\n" + items + "</ul>\n";
}

std::string time_at(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.2f} s", *seconds) : std::string();
}

std::string sized(const std::optional<double>& bytes) {
  return bytes && *bytes > 0 ? size_words(*bytes) : std::string();
}

std::vector<std::string> rank_row(const ReportedRank& rank) {
  const auto kib = rank.max_rss_kib;
  return {std::to_string(rank.rank),
          rank.host,
          rank.cpus,
          rank.pid ? fmt::format("{:.0f}", *rank.pid) : "",
          end_words(rank),
          time_at(rank.started),
          time_at(rank.ended),
          rank.cpu_s ? time_words(*rank.cpu_s) : "",
          kib ? sized(*kib * 1024) : "",
          sized(rank.sent_bytes),
          sized(rank.collective_bytes),
          sized(rank.output_bytes),
          rank.oom_kills > 0 ? fmt::format("{:.0f}", rank.oom_kills) : ""};
}

// The places in job.ranks: all, or those that failed and the first of the others.
std::vector<std::size_t> shown_ranks(const ReportedJob& job) {
  std::vector<std::size_t> all(job.ranks.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (all.size() <= kMostRows) return all;
  const auto failed = [&](std::size_t i) {
    const ReportedRank& rank = job.ranks[i];
    return !rank.ended_by_us && (rank.end != "exited" || rank.status.value_or(0) != 0);
  };
  std::stable_partition(all.begin(), all.end(), failed);
  all.resize(kMostRows);
  std::sort(all.begin(), all.end());
  return all;
}

std::string ranks_html(const ReportedJob& job) {
  ReportList table;
  table.title = "Ranks";
  table.columns = {{"rank", true},
                   {"host"},
                   {"CPUs"},
                   {"pid", true},
                   {"end"},
                   {"began", true},
                   {"ended", true},
                   {"CPU time", true},
                   {"peak memory", true},
                   {"sent", true},
                   {"collectives", true},
                   {"output", true},
                   {"OOM kills", true}};
  const std::vector<std::vector<double>> curves = core_curves(job);
  table.curve_name = "cores over time";
  for (const std::size_t i : shown_ranks(job)) {
    table.rows.push_back(rank_row(job.ranks[i]));
    if (!curves.empty()) table.curves.push_back(curves[i]);
  }
  std::string html = list_html(table);
  if (job.ranks.size() > kMostRows) {
    html += fmt::format(
        "<p>{} of {} ranks: those that failed, and the first ones. The JSON report has all.</p>\n",
        kMostRows, job.ranks.size());
  }
  return html;
}

// ---- where it ran

std::string hosts_html(const ReportedJob& job) {
  ReportList table;
  table.title = "Hosts";
  table.columns = {{"host"}, {"address"}, {"interface"}, {"agent up", true}, {"clean", true}};
  for (const ReportedHost& host : job.hosts) {
    table.rows.push_back(
        {host.name, host.address, host.interface, time_at(host.up), time_at(host.finished)});
  }
  if (table.rows.size() <= kMostRows) return list_html(table);
  const std::size_t count = table.rows.size();
  table.rows.resize(kMostRows);
  return list_html(table) + fmt::format("<p>The first {} of {} hosts.</p>\n", kMostRows, count);
}

// One line for all hosts that run the same version.
NamedTexts version_rows(const NamedTexts& versions) {
  NamedTexts rows;
  std::vector<std::pair<std::string, std::size_t>> agents;
  for (const auto& [name, version] : versions) {
    if (!name.starts_with("dtagent on ")) {
      rows.emplace_back(name, version);
      continue;
    }
    const auto same = [&version = version](const auto& known) { return known.first == version; };
    const auto known = std::find_if(agents.begin(), agents.end(), same);
    if (known == agents.end()) {
      agents.emplace_back(version, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [version, count] : agents) {
    rows.emplace_back("dtagent", fmt::format("{} on {}", version,
                                             plural(static_cast<std::int64_t>(count), "host")));
  }
  return rows;
}

}  // namespace

std::string job_page(const JobPage& page) {
  const std::optional<ReportedJob> report = parse_report(page.report);
  const ReportedJob job = report.value_or(ReportedJob{});
  std::string body = verdict_html(page, job);
  if (!report) {
    body +=
        "<p>The history has no report of this job, because a report is written when a job that has "
        "started ends. The page shows what else is known.</p>\n";
  }
  body += rows_html("Job", job_rows(page, job));
  body += printed_html("How it failed", page.card);
  body += time_html(job) + charts_html(job);
  body += ranks_html(job) + extremes_html(job) + hosts_html(job);
  body += printed_html("Why this network", join(job.network, "\n"));
  body += printed_html("Warnings", join(job.warnings, "\n"));
  body += printed_html("Messages of dtlaunch", join(job.messages, "\n"));
  if (job.programs.size() > 1) body += rows_html("Programs", job.programs);
  body += rows_html("Versions", version_rows(job.versions));
  body += rows_html("Environment of rank 0", job.environment);
  return page_html(title_of(page), body, parts_style());
}

}  // namespace dtl
