#pragma once
// NativeStack's reader: has eu-stack or gdb, where the host has one, say what the machine code of
// ranks does. For ranks that cannot tell by themselves, as they hang outside of Python. Blocks;
// call it on a thread. Opens no descriptors but its own.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace dtl {

// ranks: each with the process to look at. One answer for each, in that order; a rank for which
// there is none has told=false and the reason as its text. patience: for all of them together.
std::vector<NativeStack> read_native_stacks(
    const std::vector<std::pair<std::uint32_t, pid_t>>& ranks, std::chrono::milliseconds patience);

}  // namespace dtl
