#pragma once
// The demonstration task: short reports about two parts of a machine, each part good or bad, said
// plainly or by negation. The label is "healthy" when both parts are good, "faulty" otherwise.
//   healthy  the pump is not broken , and the old valve seems reliable
//   faulty   the pump is not reliable , and the old valve seems broken
// Whether a part is negated is drawn first and without regard to the label, so every word is
// equally frequent under both labels and no count of words tells them apart: a model must relate
// each negation to the word behind it, and both halves to each other.

#include <cstdint>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

// `count` reports, the two labels in equal shares and random order. The same seed gives the same
// reports on every machine.
TextDataset make_demo_text(std::uint64_t seed, int count);

}  // namespace dtl::trainer
