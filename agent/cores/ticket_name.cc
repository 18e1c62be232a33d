// dtlaunch-ticket/2/JOB/ARRIVAL/RUNS/BLOCKED/NUMBER/WANT: milliseconds since 1970, seconds,
// milliseconds, eight hexadecimal digits, and a number of cores ("4") or CPUs ("=0-3,8").
// dtlaunch-ends/1/JOB/UNTIL/NUMBER: milliseconds.
#include "agent/cores/ticket_name.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "agent/cores/name_words.h"
#include "base/text.h"
#include "wire/field_kinds.h"

namespace dtl {

namespace {

std::string beginning(const TicketName& ticket) {
  return fmt::format("{}{}/{}/{}/{}/{:08x}/", kTicketPrefix, ticket.job_id, ticket.arrival_ms,
                     ticket.runs_s, ticket.blocked_until.count(), ticket.number);
}

}  // namespace

std::string write_ticket_name(const TicketName& ticket) {
  const std::string begin = beginning(ticket);
  const std::string list = "=" + ticket.cpus.to_list();
  const bool fits = begin.size() + list.size() <= kMaxSocketName;
  return begin + (ticket.cpus.empty() || !fits ? std::to_string(ticket.cores) : list);
}

std::optional<TicketName> read_ticket_name(std::string_view name, int highest_cpu) {
  if (!name.starts_with(kTicketPrefix) || name.size() > kMaxSocketName) return std::nullopt;
  const std::vector<std::string> words = split(name.substr(kTicketPrefix.size()), '/');
  if (words.size() != 6 || !is_job_word(words[0])) return std::nullopt;
  const auto arrival = parse_integer(words[1], 0, kMaxArrivalMs);
  const auto runs = parse_integer(words[2], 0, kMaxRunSeconds);
  const auto blocked = parse_integer(words[3], 0, INT64_MAX);
  const auto number = read_name_number(words[4]);
  if (!arrival || !runs || !blocked || !number) return std::nullopt;
  TicketName ticket;
  ticket.job_id = words[0];
  ticket.arrival_ms = static_cast<std::uint64_t>(*arrival);
  ticket.runs_s = static_cast<std::uint64_t>(*runs);
  ticket.blocked_until = std::chrono::milliseconds(*blocked);
  ticket.number = *number;
  const std::string& wanted = words[5];
  if (wanted.starts_with('=')) {
    const auto cpus = read_cpu_list(std::string_view(wanted).substr(1), highest_cpu);
    if (!cpus) return std::nullopt;
    ticket.cpus = *cpus;
    ticket.cores = cpus->count();
  } else {
    const auto cores = parse_integer(wanted, 0, kMostCpus);
    if (!cores) return std::nullopt;
    if (wanted != std::to_string(*cores)) return std::nullopt;
    ticket.cores = static_cast<int>(*cores);
  }
  // A second spelling of the same ticket would count as another one.
  if (beginning(ticket) + wanted != name) return std::nullopt;
  return ticket;
}

std::string write_end_name(const EndName& end) {
  return fmt::format("{}{}/{}/{:08x}", kEndPrefix, end.job_id, end.until.count(), end.number);
}

std::optional<EndName> read_end_name(std::string_view name) {
  if (!name.starts_with(kEndPrefix) || name.size() > kMaxSocketName) return std::nullopt;
  const std::vector<std::string> words = split(name.substr(kEndPrefix.size()), '/');
  if (words.size() != 3 || !is_job_word(words[0])) return std::nullopt;
  const auto until = parse_integer(words[1], 0, INT64_MAX);
  const auto number = read_name_number(words[2]);
  if (!until || !number) return std::nullopt;
  EndName end{words[0], std::chrono::milliseconds(*until), *number};
  if (write_end_name(end) != name) return std::nullopt;
  return end;
}

}  // namespace dtl
