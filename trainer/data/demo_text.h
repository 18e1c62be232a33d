#pragma once
// The demonstration task: short reports about two parts of a machine, each good or bad, with or
// without negation. The label is "healthy" if both parts are good, else "faulty".
//   healthy  the pump is not broken , and the old valve seems reliable
//   faulty   the pump is not reliable , and the old valve seems broken
// Negation is drawn independently of the label, so every word is equally frequent under both
// labels, and a bag of words cannot tell them apart. A model must relate each negation to the next
// word, and the two halves to each other.

#include <cstdint>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

// `count` reports with balanced labels in random order. The same seed gives the same reports on
// every machine.
TextDataset make_demo_text(std::uint64_t seed, int count);

}  // namespace dtl::trainer
