#pragma once
// The job's secret, as a launcher hands it down: a memory file sealed against writing, under one
// number from process to process.
//
// Programs between the launcher and a rank may start it with their own descriptors closed
// (accelerate launch, torchrun, whatever uses Python's subprocess). They still have the file
// themselves, and a rank finds it there, as far as the system lets it look: at processes of its own
// user.

#include <optional>

#include "base/fd.h"

namespace dtl::ring {

// Whether a descriptor is such a file, and not what a program has opened under the number since.
bool is_sealed_memory(int fd);

// That file under `number` in the nearest process above this one that has it and would hand it
// down. A rank that has read its secret marks it close-on-exec: its children are not ranks.
std::optional<Fd> sealed_memory_above(int number);

}  // namespace dtl::ring
