#pragma once
// TicketName: what the name of a ticket's socket says, and that of an end. As with claims
// (claim_name.h), everybody on the node can read the names, and a name is only a statement. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/cores/name_words.h"
#include "plan/pinning/cpu_set.h"

namespace dtl {

constexpr std::string_view kTicketPrefix = "dtlaunch-ticket/2/";
constexpr std::string_view kEndPrefix = "dtlaunch-ends/1/";

struct TicketName {  // a job waits for cores
  std::string job_id;
  std::uint64_t arrival_ms = 0;  // Ticket::arrival_ms, and so on
  std::uint64_t runs_s = 0;
  std::uint32_t number = 0;  // random: no two sockets have the same name
  int cores = 0;
  CpuSet cpus;
  std::chrono::milliseconds blocked_until{0};  // of CLOCK_BOOTTIME, as Ticket::blocked_s; 0: never

  bool operator==(const TicketName&) const = default;
};

// A list of CPUs that does not fit is left out; `cores` then says how many they are.
std::string write_ticket_name(const TicketName& ticket);
// nullopt if the name is not of a ticket, or not exactly as write_ticket_name() writes it. CPUs
// above the highest that matters are left out.
std::optional<TicketName> read_ticket_name(std::string_view name, int highest_cpu = kMostCpus - 1);

struct EndName {  // a job that has claimed cores leaves them then
  std::string job_id;
  std::chrono::milliseconds until{};  // of CLOCK_BOOTTIME
  std::uint32_t number = 0;

  bool operator==(const EndName&) const = default;
};

std::string write_end_name(const EndName& end);
std::optional<EndName> read_end_name(std::string_view name);

}  // namespace dtl
