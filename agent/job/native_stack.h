#pragma once
// Reads the machine code stacks of ranks with eu-stack or gdb, if the host has one. For ranks that
// cannot report their own, as they hang outside Python. Blocks; call it on a thread. Opens no
// descriptors except its own.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// ranks: each with its process. Returns one answer for each, in order; a rank without a stack has
// told=false and the reason as text. patience: for all of them together.
std::vector<NativeStack> read_native_stacks(
    const std::vector<std::pair<std::uint32_t, pid_t>>& ranks, std::chrono::milliseconds patience);

}  // namespace dtl
