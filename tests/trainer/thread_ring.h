#pragma once
// A fake libdtring whose ranks are threads of one process, for tests of the trainer's use of its
// group. It sums in rank order, as the library does.

#include <functional>

#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Runs body(group) on `ranks` threads and waits for all. A body's first exception ends the other
// ranks' waits and is rethrown here.
void run_ranks(int ranks, const std::function<void(Ranks&)>& body);

}  // namespace dtl::trainer
