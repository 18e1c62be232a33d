#pragma once
// Makes the inputs of a run (tasks/prepared.h) on rank 0 and sends them to the other ranks.

#include <string>

#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// Reads and tokenises; settings.task is known. Throws Error(kBadInput) naming the file. `prepared`
// then holds the notices so far.
void prepare(const Settings& settings, Prepared& prepared);

// Throws Error(kBadInput) if the tokenizer has more tokens than the model.
void check_vocabulary(const std::string& folder, const ModelConfig& config,
                      const Tokenizer& tokenizer);

// Rank 0 sends `prepared`; the other ranks receive it.
void share(Ranks& group, Prepared& prepared);

}  // namespace dtl::trainer
