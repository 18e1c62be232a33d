#pragma once
// How labels and predictions look on the screen and in files. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {

// The headings of the first column and of the last, which counts.
struct ClassHeadings {
  std::string_view name = "class", count = "examples";
};
// A table of the classes for the screen: a heading and one line per class, 20 at most.
std::vector<std::string> class_lines(const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts,
                                     const ClassHeadings& headings = {});

// A classifier's prediction for each example: a label's name, a number, or names with commas.
std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits);

}  // namespace dtl::trainer
