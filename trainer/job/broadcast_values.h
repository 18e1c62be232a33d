#pragma once
// Broadcasts small values from rank 0, so that every rank makes the same decisions.

#include <string>

#include "trainer/data/metrics.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

void share_text(Ranks& group, std::string& text);
void share_metrics(Ranks& group, MetricList& metrics);

// On rank 0: the text of each rank, of which the first 64 bytes count. Empty on the others.
std::vector<std::string> gather_texts(Ranks& group, const std::string& text);

}  // namespace dtl::trainer
