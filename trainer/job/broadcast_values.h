#pragma once
// Small values that rank 0 has and every rank needs to come to the same decisions.

#include <string>

#include "trainer/data/metrics.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

void share_text(Group& group, std::string& text);
void share_metrics(Group& group, MetricList& metrics);

}  // namespace dtl::trainer
