#pragma once
// Loads the labelled texts of a classifier: its prepare(). Only rank 0 uses it.

#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/settings/settings.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// How each example begins, for report.html; empty if the run writes none or shows no examples. At
// most 200 characters of each text, so the memory is bounded by the number of examples.
std::vector<std::string> report_texts(const Settings& settings, const TextDataset& dataset);

// Loads labelled texts or GLUE files. Sets examples, and labels and problem of prepared.config.
void prepare_classification(const Settings& settings, Prepared& prepared);

}  // namespace dtl::trainer
