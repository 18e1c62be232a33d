#pragma once
// The words of sockets' names (claim_name.h, ticket_name.h). Each has one spelling only. Pure.

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/pinning/cpu_set.h"

namespace dtl {

constexpr int kMostCpus = 65536;             // of a node
constexpr std::size_t kMaxSocketName = 107;  // bytes: sun_path without its leading NUL

// 1 to 16 bytes.
bool is_job_word(std::string_view word);
// CPUs as the kernel lists them, none of them empty. Anybody may list all CPUs in each of many
// names, so those above `highest` are left out and cost nothing.
std::optional<CpuSet> read_cpu_list(std::string_view text, int highest = kMostCpus - 1);
// Eight hexadecimal digits.
std::optional<std::uint32_t> read_name_number(std::string_view digits);

}  // namespace dtl
