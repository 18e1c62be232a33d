#pragma once
// NativeStack's reader: has eu-stack or gdb, where the host has one, say what the machine code of
// ranks does. Blocks; no descriptors but its own.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// ranks: each with the process to look at. One answer for each, in that order.
std::vector<NativeStack> read_native_stacks(
    const std::vector<std::pair<std::uint32_t, pid_t>>& ranks, std::chrono::milliseconds patience);

}  // namespace dtl
