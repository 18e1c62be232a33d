#pragma once
// Small values that rank 0 has and every rank needs to come to the same decisions.

#include <string>

#include "trainer/data/metrics.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

void share_text(Ranks& group, std::string& text);
void share_metrics(Ranks& group, MetricList& metrics);

}  // namespace dtl::trainer
