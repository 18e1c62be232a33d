#pragma once
// How the labels of an evaluation look on the screen. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {

// The headings of the first column and of the last, which counts.
struct ClassHeadings {
  std::string_view name = "class", count = "examples";
};
// A table of the classes for the screen: a heading, one line per class, 20 at most, and two with
// the means over all of them.
std::vector<std::string> class_lines(Problem problem, const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts,
                                     const ClassHeadings& headings = {});

}  // namespace dtl::trainer
