#pragma once
// Loads the data sets of a run for its task: part of prepare(). Only rank 0 uses it.

#include "trainer/job/load_inputs.h"

namespace dtl::trainer {

// Loads labelled texts or GLUE files. Sets examples, and labels and problem of prepared.config.
void prepare_classification(const Settings& settings, Prepared& prepared);

// Questions with contexts.
void prepare_answers(const Settings& settings, Prepared& prepared);

}  // namespace dtl::trainer
