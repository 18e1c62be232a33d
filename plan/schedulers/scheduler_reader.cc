// Values of variables, checked against limits, and a record of the reads for --show-scheduler.
// Knows no variable's meaning.
#include "plan/schedulers/scheduler_reader.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

constexpr std::size_t kShownBytes = 60;   // of a value in a message
constexpr std::size_t kMaxIdBytes = 256;  // far longer than any scheduler's
constexpr std::string_view kOtherScheduler = "--scheduler none, and hosts by -f FILE";

std::string shown_value(std::string_view value) {
  if (value.size() <= kShownBytes) return printable(value);
  return printable(value.substr(0, kShownBytes)) + "...";
}

}  // namespace

SchedulerReader::SchedulerReader(const Variables& environment) {
  for (const auto& [name, value] : environment) {
    // An empty variable counts as absent; the last entry with a name wins.
    if (value.empty()) {
      variables_.erase(name);
    } else {
      variables_.insert_or_assign(name, value);
    }
  }
}

std::optional<std::string> SchedulerReader::text(std::string_view name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  // All reads pass through here, so --show-scheduler lists them all.
  used_.insert(*found);
  return found->second;
}

std::string SchedulerReader::needed(std::string_view name) {
  if (auto value = text(name)) return *value;
  throw file_error(std::string(name), "", "the scheduler's variable is missing",
                   std::string(kOtherScheduler));
}

std::optional<int> SchedulerReader::number(std::string_view name, std::int64_t low,
                                           std::int64_t high) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  if (const auto read = parse_integer(*value, low, high)) return static_cast<int>(*read);
  throw bad(name, whole_number_fault(*value, low, high));
}

int SchedulerReader::needed_number(std::string_view name, std::int64_t low, std::int64_t high) {
  // Throws if it is absent, whereas number() would return nullopt.
  needed(name);
  return *number(name, low, high);
}

std::optional<SizeRange> SchedulerReader::range(std::string_view name, int high) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const std::size_t colon = value->find(':');
  const auto least = parse_integer(value->substr(0, colon), 1, high);
  const auto most = colon == value->npos ? least : parse_integer(value->substr(colon + 1), 1, high);
  if (!least || !most || *least > *most) {
    if (colon == value->npos) throw bad(name, whole_number_fault(*value, 1, high));
    throw bad(name, fmt::format("neither a whole number nor MIN:MAX (1 to {})", high));
  }
  return SizeRange{static_cast<int>(*least), static_cast<int>(*most)};
}

std::optional<std::pair<std::string, int>> SchedulerReader::endpoint(std::string_view name) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const std::size_t bracket = value->rfind(']'), colon = value->rfind(':');
  // Colons inside brackets belong to the address.
  const bool has_port = colon != value->npos && (bracket == value->npos || colon > bracket);
  std::string host = value->substr(0, has_port ? colon : value->size());
  int port = 0;
  if (has_port) {
    const auto read = parse_integer(value->substr(colon + 1), 1, 65535);
    if (!read) throw bad(name, "not a TCP port after the ':' (1 to 65535)", "NAME:29500");
    port = static_cast<int>(*read);
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (!is_address(host)) throw bad(name, "not an address in the brackets", "[::1]:29500");
    return std::pair{host, port};
  }
  // Not looked up: a pod's name may not resolve yet.
  if (host.size() > kMaxHostNameBytes) throw bad(name, "the name is too long");
  check_host_name(host, position(name));
  return std::pair{host, port};
}

std::string SchedulerReader::job_id(std::string_view name) {
  const auto value = text(name);
  if (!value) return {};
  // A job's id is one word in commands shown to the user.
  const bool plain = printable(*value) == *value && value->find(' ') == value->npos;
  if (!plain || value->size() > kMaxIdBytes) throw bad(name, "not the id of a job");
  return *value;
}

std::string_view SchedulerReader::first_of(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (has(name)) return name;
  }
  return *(names.end() - 1);
}

Error SchedulerReader::bad(std::string_view name, std::string reason, std::string hint) const {
  const auto found = variables_.find(name);
  const std::string value = found == variables_.end() ? "" : found->second;
  return file_error(fmt::format("{}={}", name, shown_value(value)), "", std::move(reason),
                    hint.empty() ? std::string(kOtherScheduler) : std::move(hint));
}

TextPosition SchedulerReader::position(std::string_view name) const {
  const auto found = variables_.find(name);
  const std::string value = found == variables_.end() ? "" : found->second;
  return {fmt::format("{}={}: column ", name, shown_value(value)), 1, Exit::kBadInput};
}

Variables SchedulerReader::used() const {
  return {used_.begin(), used_.end()};
}

}  // namespace dtl
