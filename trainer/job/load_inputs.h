#pragma once
// Makes the inputs of a run (tasks/prepared.h) on rank 0 and sends them to the other ranks.

#include <string>
#include <vector>

#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// Reads and tokenises; settings.task is known. Throws Error(kBadInput) naming the file. `prepared`
// then holds the notices so far.
void prepare(const Settings& settings, Prepared& prepared);

// The most tokens of an example: as asked (0: as many as possible), but no more than the model and
// the tokenizer allow; then with a notice.
struct AskedLength {
  int tokens = 0;
  bool by_default = false;  // nobody gave it
};
int usable_length(const AskedLength& asked, const ModelConfig& config, const Tokenizer& tokenizer,
                  std::vector<std::string>& notices);

// Throws Error(kBadInput) if the tokenizer has more tokens than the model.
void check_vocabulary(const std::string& folder, const ModelConfig& config,
                      const Tokenizer& tokenizer);

// Rank 0 sends `prepared`; the other ranks receive it.
void share(Ranks& group, Prepared& prepared);

}  // namespace dtl::trainer
