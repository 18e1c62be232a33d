#pragma once
// Ranks of one job run on CPUs of one architecture: results on x86-64 and arm64 may differ in the
// last bits, for example where denormal numbers become zero, and every rank updates its own copy of
// the parameters. A collective call of all ranks, before any other.

#include <cstdint>

#include "trainer/step/ranks.h"

namespace dtl::trainer {

// The architecture of this program, as ELF files number it (e_machine); 0: another.
std::uint64_t own_architecture();

// Throws Error(kConfig) on every rank if they differ. Rank 0's is printed.
void require_one_architecture(Ranks& group, std::uint64_t own = own_architecture());

}  // namespace dtl::trainer
