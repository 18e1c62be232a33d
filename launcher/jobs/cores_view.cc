#include "launcher/jobs/cores_view.h"

#include <fmt/format.h>

#include <utility>

#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/jobs/text_table.h"

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
  bool is_next(std::string_view key) const {
    return ok_ && rest_.starts_with(key) && rest_.substr(key.size()).starts_with(' ');
  }

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

// nullopt: it is anything else.
std::optional<ClaimedCores> read_claim(AnswerLines& lines, std::int64_t most_cores) {
  ClaimedCores claim;
  claim.job = job_in(lines.value("job"));
  claim.user = user_in(lines.value("user"));
  claim.age_s = lines.number("age", INT64_MAX);
  const std::string_view shared = lines.value("shared");
  claim.shared = shared == "yes";
  claim.cpus = lines.cpus("cpus");
  claim.cores = lines.number("cores", most_cores);
  // A dtagent of 0.2 does not say it.
  if (lines.is_next("left")) claim.left_s = lines.number("left", INT64_MAX);
  lines.blank();
  if (claim.user.empty() || (shared != "yes" && shared != "no")) return std::nullopt;
  return claim;
}

std::optional<WaitingTicket> read_ticket(AnswerLines& lines, std::int64_t most_cores) {
  WaitingTicket ticket;
  ticket.job = job_in(lines.value("ticket"));
  ticket.user = user_in(lines.value("user"));
  ticket.age_s = lines.number("age", INT64_MAX);
  ticket.arrival_ms = lines.number("arrival", INT64_MAX);
  // It may want more than the node has.
  ticket.cores = lines.number("wants", kMostCores);
  ticket.cpus = lines.cpus("wants-cpus");
  ticket.runs_s = lines.number("runs", INT64_MAX);
  ticket.kept = lines.number("kept", most_cores);
  lines.blank();
  if (ticket.user.empty()) return std::nullopt;
  return ticket;
}

void add_host(const HostCores& host, std::optional<int> columns, std::vector<TableRow>& rows) {
  const NodeCores& node = host.cores;
  const auto part = [&](std::int64_t cores) { return fmt::format("{} of {}", cores, node.cores); };
  for (const ClaimedCores& claim : node.claims) {
    rows.push_back({host.host, claim.cpus, part(claim.cores), shown_job(claim.job, columns),
                    claim.user, age_text(claim.age_s), claim.shared ? "shared" : ""});
  }
  rows.push_back({host.host, node.free_cpus.empty() ? "-" : node.free_cpus, part(node.free_cores),
                  "free", "", "", ""});
  for (const WaitingTicket& ticket : node.waiting) {
    if (ticket.kept == 0) continue;
    rows.push_back({host.host, "of these", part(ticket.kept), shown_job(ticket.job, columns),
                    ticket.user, age_text(ticket.age_s), "waits"});
  }
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
  while (lines.is_next("job")) {
    auto claim = read_claim(lines, node.cores);
    if (!claim) return std::nullopt;
    node.claims.push_back(std::move(*claim));
  }
  while (lines.is_next("ticket")) {
    auto ticket = read_ticket(lines, node.cores);
    if (!ticket) return std::nullopt;
    node.waiting.push_back(std::move(*ticket));
  }
  if (!lines.ok() || !lines.is_at_end()) return std::nullopt;
  return node;
}

std::string shown_job(const std::string& job, std::optional<int> columns) {
  return job.substr(0, columns ? kShownDigits : kJobDigits);
}

std::string cores_table(const std::vector<HostCores>& hosts, std::optional<int> columns) {
  std::vector<TableRow> rows = {{"HOST", "CPUS", "CORES", "JOB", "USER", "FOR", ""}};
  for (const HostCores& host : hosts) add_host(host, columns, rows);
  return text_table(rows, {16, 0, 12, 4, 12, 6, 6}, columns);
}

}  // namespace dtl
