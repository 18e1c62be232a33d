#include "launcher/top/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "base/text.h"
#include "launcher/jobs/cores_view.h"
#include "launcher/jobs/jobs_view.h"
#include "launcher/screen/terminal_color.h"

namespace dtl {
namespace {

constexpr int kLeastColumns = 20;          // narrower terminals wrap lines
constexpr int kWide = 100, kWider = 140;   // columns from which more of them are shown
constexpr std::size_t kMostLostHosts = 2;  // with a line of their own

// "980", "12.3k", "4.56M": three or four digits.
std::string short_number(double value) {
  constexpr std::string_view kUnits = " kMGTPE";
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) value /= 1000, ++unit;
  if (unit == 0) return fmt::format("{:.0f}", value);
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, digits, kUnits[unit]);
}

std::string short_number(const std::optional<double>& value) {
  return value ? short_number(*value) : "-";
}

std::string kib_text(std::uint64_t kib) {
  const auto mib = kib / 1024;
  if (kib < 10 * 1024) return fmt::format("{} KiB", kib);
  if (mib < 10 * 1024) return fmt::format("{} MiB", mib);
  return fmt::format("{} GiB", mib / 1024);
}

std::string percent_text(const std::optional<double>& percent) {
  if (!percent) return "-";
  // More cores than any host has would only be a host's nonsense.
  return fmt::format("{:.0f}%", std::min(*percent, 9'999'999.0));
}

std::string waits_in(const TopRank& rank) {
  if (rank.collective.empty()) return "-";
  if (rank.waits_s >= 60) {
    return fmt::format("{} {}", rank.collective, age_text(static_cast<std::int64_t>(rank.waits_s)));
  }
  return fmt::format("{} {:.1f}s", rank.collective, rank.waits_s);
}

struct RankColumn {
  const char* title;
  int least_columns;  // of a terminal that shows it
  std::size_t width;  // on a terminal; 0: the rest
  bool left;
  std::function<std::string(const TopRank&)> text;
};

std::optional<double> wire_rate(const TopRank& rank) {
  return rank.ring_per_s ? rank.ring_per_s : rank.sent_per_s;
}

std::string step_text(const TopRank& rank) {
  return rank.progress ? std::to_string(rank.progress->step) : "-";
}

const std::vector<RankColumn>& rank_columns() {
  static const std::vector<RankColumn> kColumns = {
      {"RANK", 0, 5, false,
       [](const TopRank& rank) { return rank.rank < 0 ? "?" : std::to_string(rank.rank); }},
      {"HOST", 0, 12, true, [](const TopRank& rank) { return rank.host; }},
      {"PID", kWide, 7, false, [](const TopRank& rank) { return std::to_string(rank.pid); }},
      {"STATE", 0, 8, true, [](const TopRank& rank) { return activity_word(rank.activity); }},
      {"CPU", 0, 6, false, [](const TopRank& rank) { return percent_text(rank.cpu_percent); }},
      {"MEMORY", 0, 8, false, [](const TopRank& rank) { return kib_text(rank.memory_kib); }},
      {"THRDS", 0, 5, false, [](const TopRank& rank) { return std::to_string(rank.threads); }},
      {"BYTES/s", 0, 7, false, [](const TopRank& rank) { return short_number(wire_rate(rank)); }},
      {"TCP/s", kWider, 7, false,
       [](const TopRank& rank) { return short_number(rank.sent_per_s); }},
      {"STEP", kWide, 8, false, step_text},
      {"PROGRAM", kWider, 16, true, [](const TopRank& rank) { return rank.program; }},
      {"WAITS IN", 0, 0, true, waits_in},
  };
  return kColumns;
}

// The lines of a page, each within its columns.
class PageLines {
 public:
  explicit PageLines(const TopPage& page)
      : columns_(page.columns ? std::max(*page.columns, kLeastColumns) : 0), color_(page.color) {}

  enum class Look { kPlain, kBold, kRed };
  void add(std::string line, Look look = Look::kPlain) {
    if (columns_ > 0) line = fit_column(line, static_cast<std::size_t>(columns_));
    if (color_ && look == Look::kBold) line = bold(line);
    if (color_ && look == Look::kRed) line = bold_red(line);
    text_ += line + "\n";
    ++count_;
  }
  std::size_t count() const { return count_; }
  std::string take() { return std::move(text_); }

 private:
  int columns_;  // 0: any
  bool color_;
  std::string text_;
  std::size_t count_ = 0;
};
using Look = PageLines::Look;

std::string names_text(const std::vector<std::string>& hosts) {
  return hosts.size() <= 4 ? join(hosts, ",") : fold_hosts(hosts);
}

std::string owners_text(const TopView& view, const TopPage& page) {
  std::int64_t cores = 0, free_cores = 0;
  for (const TopHost& host : view.hosts) cores += host.cores, free_cores += host.free_cores;
  if (cores == 0) return {};
  std::string text = fmt::format("cores  {} of {} free", free_cores, cores);
  for (const TopOwner& owner : view.owners) {
    std::vector<std::string> jobs;
    for (const auto& [job, count] : owner.jobs) {
      jobs.push_back(fmt::format("{} {}", shown_job(job, page.columns), count));
    }
    text += fmt::format("; {} {} (job {})", owner.user, owner.cores, join(jobs, ", "));
  }
  return text;
}

void add_hosts(const TopView& view, PageLines& lines) {
  std::vector<std::string> connecting;
  std::vector<const TopHost*> lost;
  for (const TopHost& host : view.hosts) {
    if (host.state == TopHostState::kConnecting) connecting.push_back(host.name);
    if (host.state == TopHostState::kLost) lost.push_back(&host);
  }
  if (!connecting.empty()) lines.add("hosts  connecting to " + names_text(connecting));
  for (std::size_t i = 0; i < std::min(lost.size(), kMostLostHosts); ++i) {
    const std::string again =
        lost[i]->next_try_s ? fmt::format("; next try in {:.0f} s", std::ceil(*lost[i]->next_try_s))
                            : "";
    lines.add(fmt::format("lost   {}: {}{}", lost[i]->name, lost[i]->reason, again), Look::kRed);
  }
  if (lost.size() > kMostLostHosts) {
    std::vector<std::string> rest;
    for (std::size_t i = kMostLostHosts; i < lost.size(); ++i) rest.push_back(lost[i]->name);
    lines.add("lost   also " + names_text(rest), Look::kRed);
  }
}

void add_head(const TopView& view, const TopPage& page, PageLines& lines) {
  std::size_t ranks = 0;
  for (const TopJob& job : view.jobs) ranks += job.ranks.size();
  const auto count = [](std::size_t number, const char* noun) {
    return plural(static_cast<std::int64_t>(number), noun);
  };
  std::string first = fmt::format("dtlaunch top  {}, {} on {}", count(view.jobs.size(), "job"),
                                  count(ranks, "rank"), count(view.hosts.size(), "host"));
  if (!page.time.empty()) first += "  " + page.time;
  lines.add(std::move(first), Look::kBold);
  if (const std::string owners = owners_text(view, page); !owners.empty()) lines.add(owners);
  add_hosts(view, lines);
}

std::string job_line(const TopJob& job, const TopPage& page) {
  std::string text = fmt::format("job {}", shown_job(job.id, page.columns));
  if (!job.state.empty()) text += "  " + job.state;
  text += fmt::format(
      "  {} of {} on {}", job.ranks.size(), plural(job.world, "rank"),
      plural(static_cast<std::int64_t>(job.hosts.size()), job.is_whole ? "host" : "watched host"));
  text += "  for " + age_text(job.age_s);
  return job.command.empty() ? text : text + "  " + job.command;
}

std::string training_line(const TopTraining& training) {
  std::string text = fmt::format("  step {}", training.step);
  if (training.total_steps > 0) {
    text += fmt::format(
        " of {} ({:.0f}%)", training.total_steps,
        100 * static_cast<double>(training.step) / static_cast<double>(training.total_steps));
  }
  text += training.loss ? fmt::format(", loss {:.4g}", *training.loss) : "";
  if (training.tokens_per_s) text += ", " + short_number(*training.tokens_per_s) + " tokens/s";
  constexpr double kMostLeft = 1e10;  // seconds; a host's nonsense
  if (training.left_s && *training.left_s < kMostLeft) {
    text += ", " + age_text(static_cast<std::int64_t>(*training.left_s)) + " left";
  }
  return text;
}

// Of an unlimited page: each as wide as its texts.
std::vector<std::size_t> free_widths(std::span<const TopRank* const> ranks) {
  std::vector<std::size_t> widths;
  for (const RankColumn& column : rank_columns()) {
    std::size_t width = std::max(column.width, std::string_view(column.title).size());
    for (const TopRank* rank : ranks) width = std::max(width, column.text(*rank).size());
    widths.push_back(width);
  }
  return widths;
}

class RankTable {
 public:
  RankTable(const TopPage& page, std::span<const TopRank* const> ranks) : page_(page) {
    if (!page.columns) free_ = free_widths(ranks);
  }

  std::string head() const { return row(nullptr); }
  std::string row(const TopRank* rank) const {
    std::string line = rank != nullptr && rank->is_odd ? "!" : " ";
    for (std::size_t i = 0; i < rank_columns().size(); ++i) {
      const RankColumn& column = rank_columns()[i];
      if (page_.columns && *page_.columns < column.least_columns) continue;
      std::string text = rank == nullptr ? column.title : column.text(*rank);
      const std::size_t width = page_.columns ? column.width : free_[i];
      if (page_.columns && width > 0) text = fit_column(text, width);
      line +=
          column.left ? fmt::format("{:<{}} ", text, width) : fmt::format("{:>{}} ", text, width);
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }

 private:
  const TopPage& page_;
  std::vector<std::size_t> free_;
};

// Whole cores, so that rows do not change places for nothing.
int busy_cores(const TopRank& rank) {
  return static_cast<int>(std::min(rank.cpu_percent.value_or(0) / 100 + 0.5, 1e6));
}

bool is_troubled(const TopRank& rank) {
  return !rank.activity ||
         (*rank.activity != Activity::kComputes && *rank.activity != Activity::kSleeps);
}

std::vector<const TopRank*> most_telling(const TopJob& job, std::size_t room) {
  std::vector<const TopRank*> ranks;
  for (const TopRank& rank : job.ranks) ranks.push_back(&rank);
  if (ranks.size() <= room) return ranks;
  std::stable_sort(ranks.begin(), ranks.end(), [](const TopRank* a, const TopRank* b) {
    if (a->is_odd != b->is_odd) return a->is_odd;
    if (is_troubled(*a) != is_troubled(*b)) return is_troubled(*a);
    return busy_cores(*a) > busy_cores(*b);
  });
  ranks.resize(room > 0 ? room - 1 : 0);  // the last row says how many there are
  return ranks;
}

std::size_t fixed_lines(const TopJob& job) {
  const std::size_t table = job.ranks.empty() ? 0 : 1;
  return 1 + (job.training ? 1 : 0) + (top_wait_text(job).empty() ? 0 : 1) + table;
}

void add_job(const TopJob& job, const TopPage& page, std::size_t room, PageLines& lines) {
  lines.add(job_line(job, page), Look::kBold);
  if (job.training) lines.add(training_line(*job.training));
  if (const std::string wait = top_wait_text(job); !wait.empty()) {
    lines.add("! " + wait, Look::kRed);
  }
  if (job.ranks.empty()) return;
  const std::vector<const TopRank*> ranks = most_telling(job, room);
  const RankTable table(page, ranks);
  lines.add(table.head());
  for (const TopRank* rank : ranks) {
    lines.add(table.row(rank), rank->is_odd ? Look::kRed : Look::kPlain);
  }
  if (ranks.size() < job.ranks.size()) {
    const std::size_t more = job.ranks.size() - ranks.size();
    lines.add(fmt::format(" ... {} more rank{}", more, more == 1 ? "" : "s"));
  }
}

// How many rows each of the first jobs gets for its ranks; jobs that do not fit get none.
std::vector<std::size_t> share_rows(const TopView& view, std::size_t rows) {
  constexpr std::size_t kLeastRows = 2;  // one rank, and how many more
  std::vector<std::size_t> shares;
  for (const TopJob& job : view.jobs) {
    const std::size_t least = std::min(job.ranks.size(), kLeastRows);
    const bool is_last = shares.size() + 1 == view.jobs.size();
    const std::size_t need = fixed_lines(job) + least + (is_last ? 0 : 1);
    if (need > rows) break;
    rows -= fixed_lines(job) + least;
    shares.push_back(least);
  }
  if (shares.size() < view.jobs.size() && rows > 0) --rows;  // "... 3 more jobs"
  for (bool gave = true; gave && rows > 0;) {
    gave = false;
    for (std::size_t i = 0; i < shares.size() && rows > 0; ++i) {
      if (shares[i] >= view.jobs[i].ranks.size()) continue;
      ++shares[i], --rows;
      gave = true;
    }
  }
  return shares;
}

}  // namespace

std::string top_text(const TopView& view, const TopPage& page) {
  PageLines lines(page);
  add_head(view, page, lines);
  const std::size_t rows =
      page.rows ? *page.rows - std::min(*page.rows, lines.count()) : std::size_t{1} << 32;
  const std::vector<std::size_t> shares = share_rows(view, rows);
  for (std::size_t i = 0; i < shares.size(); ++i) add_job(view.jobs[i], page, shares[i], lines);
  const std::size_t more = view.jobs.size() - shares.size();
  if (more > 0) lines.add(fmt::format("... {} more job{}", more, more == 1 ? "" : "s"));
  const bool all_told = std::all_of(view.hosts.begin(), view.hosts.end(), [](const TopHost& host) {
    return host.state == TopHostState::kWatched;
  });
  if (view.jobs.empty() && all_told) lines.add("no job of yours runs on these hosts");
  return lines.take();
}

}  // namespace dtl
