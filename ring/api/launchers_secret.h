#pragma once
// The job's secret, as a launcher passes it on: a memory file sealed against writing, with the same
// descriptor number in each process.
// Programs between the launcher and a rank may start it without their own descriptors (accelerate
// launch, torchrun, anything that uses Python's subprocess). They still hold the file themselves,
// and a rank finds it there if the system allows it: in processes of its own user.

#include <optional>

#include "base/fd.h"

namespace dtl::ring {

// Whether a descriptor is such a file, not one that a program opened later under the number.
bool is_sealed_memory(int fd);

// That file under `number` in the nearest ancestor process that has it without close-on-exec. A
// rank that has read its secret marks it close-on-exec: its children are not ranks.
std::optional<Fd> sealed_memory_above(int number);

}  // namespace dtl::ring
