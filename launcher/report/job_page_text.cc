#include "launcher/report/job_page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/page/report_parts.h"
#include "base/text.h"

namespace dtl {
namespace {

// For the causes of dtlaunch itself; {} is where they happened.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kCauses = {{
    {"cannot-start", "it could not start"},
    {"spawn-failed", "{} could not be started"},
    {"node-lost", "{} was lost"},
    {"agent-failed", "the agent on {} failed"},
    {"timeout", "its time was up"},
    {"hang", "its ranks hung"},
    {"interrupted", "dtlaunch was told to end it"},
    {"output-closed", "nobody read its output any more"},
    {"stopped-self", "dtlaunch was stopped for too long"},
    {"hosts-changed", "hosts joined or left"},
    {"notice", "{} had to go"},
    {"mpi-abort", "{} called MPI_Abort"},
    {"mpi-left", "{} ended while others waited for it in MPI"},
    {"mpi-broken", "{} broke the rules of MPI"},
    {"mpi-alone", "{} could not join the others in MPI"},
    {"up-ended", "dtlaunch up, which had the connections, has ended"},
}};

std::string place_words(const ReportedEnd& end) {
  if (end.rank < 0) return end.host.empty() ? "a host" : end.host;
  return fmt::format("rank {}{}", end.rank, end.host.empty() ? "" : " on " + end.host);
}

}  // namespace

std::string failure_words(const ReportedEnd& end) {
  if (end.cause.empty() || end.cause == "completed" || end.cause == "dry-run") return {};
  std::string words;
  if (end.cause == "rank-signal") {
    words = fmt::format("{} was killed by {}", place_words(end), end.signal);
  } else if (end.cause == "rank-exit") {
    words = fmt::format("{} ended with status {}", place_words(end), end.exit_status);
  } else {
    const auto known = std::find_if(kCauses.begin(), kCauses.end(),
                                    [&](const auto& cause) { return cause.first == end.cause; });
    words = known == kCauses.end() ? end.cause : known->second;
    const std::size_t place = words.find("{}");
    if (place != words.npos) words.replace(place, 2, place_words(end));
  }
  // The whole text, which may have many lines, is on the card.
  const std::string text = end.text.substr(0, end.text.find('\n'));
  return text.empty() ? words : words + ": " + text;
}

std::string verdict_words(const JobPage& page, const ReportedJob& job) {
  if (page.status == "lost") return "lost: its launcher was killed, so nobody knows how it ended";
  if (page.status == "running") return "still runs; this page has what was known when it was made";
  if (page.status == "waiting") return "waits in line for cores";
  if (page.status != "ended") return "nobody knows how it ended";
  const double took = page.took_s.value_or(job.total);
  if (job.end.cause == "dry-run") return "a dry run: nothing was started";
  const std::string failure = failure_words(job.end);
  // A job that the user ended may have status 0.
  if (page.exit_status == 0 && failure.empty()) {
    return fmt::format("succeeded in {}", time_words(took));
  }
  return fmt::format("failed after {}: {}", time_words(took),
                     failure.empty() ? fmt::format("status {}", page.exit_status) : failure);
}

std::string end_words(const ReportedRank& rank) {
  std::string words = rank.end;
  if (!rank.signal.empty()) {
    words = rank.signal;
  } else if (rank.end == "exited" && rank.status) {
    words = fmt::format("status {:.0f}", *rank.status);
  }
  if (rank.ended_by_us) {
    words += ", ended by dtlaunch";
  } else if (rank.consequence) {
    words += ", because of another rank";
  }
  return words;
}

std::string local_date(std::int64_t ms) {
  const std::time_t moment = ms / 1000;
  std::tm date{};
  char text[64];
  if (::localtime_r(&moment, &date) == nullptr) return "?";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z (%Z)", &date)};
}

}  // namespace dtl
