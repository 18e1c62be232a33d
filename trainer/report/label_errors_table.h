#pragma once
// The confusion of each of several labels, for report.html. A pure function.

#include <vector>

#include "base/page/report_table.h"
#include "trainer/data/class_counts.h"
#include "trainer/families/model_config.h"

namespace dtl::trainer {

// A row for each label, the most frequent first, 50 at most: examples that have it and where it was
// predicted, where it was missed, where it was predicted wrongly; precision, recall and F1.
ReportTable label_errors_table(const ModelConfig& config, const std::vector<ClassCounts>& counts);

}  // namespace dtl::trainer
