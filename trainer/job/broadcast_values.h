#pragma once
// Broadcasts small values from rank 0, so that every rank makes the same decisions.

#include <string>

#include "trainer/data/metrics.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

void share_text(Ranks& group, std::string& text);
void share_metrics(Ranks& group, MetricList& metrics);

}  // namespace dtl::trainer
