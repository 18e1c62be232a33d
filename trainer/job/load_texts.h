#pragma once
// The data sets of a run, by its task: part of prepare(). Rank 0's business.

#include "trainer/job/load_inputs.h"

namespace dtl::trainer {

// Labelled texts, or GLUE's files. Enters examples, and labels and problem of prepared.config.
void prepare_classification(const Settings& settings, Prepared& prepared);

// Questions with contexts.
void prepare_answers(const Settings& settings, Prepared& prepared);

}  // namespace dtl::trainer
