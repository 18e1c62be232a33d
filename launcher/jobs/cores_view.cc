// Columns are as wide as their widest text, up to a limit on a terminal. Lists of CPUs get what the
// others leave there.
#include "launcher/jobs/cores_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/jobs/jobs_view.h"

namespace dtl {
namespace {

constexpr std::int64_t kMostCores = 65536;  // of a node
constexpr std::size_t kMostUserBytes = 1024;
constexpr std::size_t kJobDigits = 16, kShownDigits = 4;

// Lines "KEY VALUE" in a fixed order. After a fault nothing more is read.
class AnswerLines {
 public:
  explicit AnswerLines(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool is_at_end() const { return rest_ == "end\n"; }

  std::string_view value(std::string_view key) {
    const std::string_view line = next();
    if (!line.starts_with(key) || line.substr(key.size()).substr(0, 1) != " ") return fault();
    return line.substr(key.size() + 1);
  }
  std::int64_t number(std::string_view key, std::int64_t most) {
    const auto number = parse_integer(value(key), 0, most);
    if (!number) fault();
    return number.value_or(0);
  }
  std::string cpus(std::string_view key) {
    const std::string_view list = value(key);
    const bool known = list.find_first_not_of("0123456789,-") == list.npos;
    return std::string(known ? list : fault());
  }
  void blank() {
    if (!next().empty()) fault();
  }

 private:
  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    if (!ok_ || end == rest_.npos) return fault();
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  std::string_view fault() {
    ok_ = false;
    return {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

// "1000 alice", "1000 " or "?"; empty: none of these.
std::string user_in(std::string_view words) {
  if (words == "?") return "?";
  const std::size_t blank = words.find(' ');
  if (blank == words.npos || words.size() > kMostUserBytes) return {};
  const std::string_view number = words.substr(0, blank);
  if (!parse_integer(number, 0, UINT32_MAX)) return {};
  const std::string_view name = words.substr(blank + 1);
  return name.empty() ? std::string(number) : printable(name);
}

std::string job_in(std::string_view text) {
  const std::string job(text);
  return job.size() == kJobDigits && is_job_id_prefix(job) ? job : "?";
}

using Row = std::array<std::string, 7>;  // host, CPUs, cores, job, user, age, "shared"

std::vector<Row> rows_of(const std::vector<HostCores>& hosts, bool whole) {
  const std::size_t digits = whole ? kJobDigits : kShownDigits;
  std::vector<Row> rows = {{"HOST", "CPUS", "CORES", "JOB", "USER", "FOR", ""}};
  for (const HostCores& host : hosts) {
    const NodeCores& node = host.cores;
    const auto part = [&](std::int64_t cores) {
      return fmt::format("{} of {}", cores, node.cores);
    };
    for (const ClaimedCores& claim : node.claims) {
      rows.push_back({host.host, claim.cpus, part(claim.cores), claim.job.substr(0, digits),
                      claim.user, age_text(claim.age_s), claim.shared ? "shared" : ""});
    }
    rows.push_back({host.host, node.free_cpus.empty() ? "-" : node.free_cpus, part(node.free_cores),
                    "free", "", "", ""});
  }
  return rows;
}

}  // namespace

std::optional<NodeCores> parse_node_cores(std::string_view text) {
  AnswerLines lines(text);
  NodeCores node;
  node.cpus = lines.cpus("cpus");
  node.cores = lines.number("cores", kMostCores);
  node.free_cpus = lines.cpus("free-cpus");
  node.free_cores = lines.number("free-cores", node.cores);
  lines.blank();
  while (lines.ok() && !lines.is_at_end()) {
    ClaimedCores claim;
    claim.job = job_in(lines.value("job"));
    claim.user = user_in(lines.value("user"));
    claim.age_s = lines.number("age", INT64_MAX);
    const std::string_view shared = lines.value("shared");
    claim.shared = shared == "yes";
    claim.cpus = lines.cpus("cpus");
    claim.cores = lines.number("cores", node.cores);
    lines.blank();
    if (claim.user.empty() || (shared != "yes" && shared != "no")) return std::nullopt;
    node.claims.push_back(std::move(claim));
  }
  if (!lines.ok()) return std::nullopt;
  return node;
}

std::string cores_table(const std::vector<HostCores>& hosts, std::optional<int> columns) {
  constexpr std::size_t kCpus = 1;
  constexpr std::array<std::size_t, 7> kMost = {16, 0, 12, 4, 12, 6, 6};  // 0: what is left
  const std::vector<Row> rows = rows_of(hosts, !columns);
  std::array<std::size_t, 7> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  if (columns) {
    std::size_t others = widths.size() - 1;  // blanks between columns
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i != kCpus) others += widths[i] = std::min(widths[i], kMost[i]);
    }
    widths[kCpus] =
        std::min(widths[kCpus], static_cast<std::size_t>(std::max(*columns, 80)) - others);
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}} ", fit_column(row[i], widths[i]), widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace dtl
