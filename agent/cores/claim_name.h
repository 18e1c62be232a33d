#pragma once
// ClaimName: what the name of a claim's socket says. Everybody on the node can read the names of
// abstract sockets, and anybody may bind any name, so a name is only a statement. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cores/name_words.h"
#include "plan/pinning/cpu_set.h"

namespace dtl {

struct ClaimName {
  std::string job_id;
  std::chrono::milliseconds since{};  // of CLOCK_BOOTTIME
  bool shared = false;                // CoreClaim::shared
  std::uint32_t number = 0;           // random: no two sockets have the same name
  CpuSet cpus;

  bool operator==(const ClaimName&) const = default;
};

constexpr std::string_view kClaimPrefix = "dtlaunch-cores/1/";

// In as many names as it takes, since a name is short: all with the same job, time and number.
// job_id: at most 16 bytes, without '/'.
std::vector<std::string> write_claim_names(const ClaimName& claim);

// nullopt if the name is not of a claim, or not exactly as write_claim_names() writes one. CPUs
// above the highest that matters are left out.
std::optional<ClaimName> read_claim_name(std::string_view name, int highest_cpu = kMostCpus - 1);

}  // namespace dtl
