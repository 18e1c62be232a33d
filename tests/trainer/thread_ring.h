#pragma once
// A stand-in for libdtring whose ranks are threads of one process, for tests of what the trainer
// does with its group. Sums are made in order of rank, as the library does.

#include <functional>

#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Runs body(group) on `ranks` threads and waits for all. The first exception of a body ends the
// others' waits and is thrown again here.
void run_ranks(int ranks, const std::function<void(Ranks&)>& body);

}  // namespace dtl::trainer
