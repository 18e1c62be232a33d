#pragma once
// What a run starts from. Rank 0 makes it from files and hands it to the others through the
// library, so only rank 0's host needs the files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/examples.h"
#include "trainer/group.h"
#include "trainer/model_config.h"
#include "trainer/settings.h"
#include "trainer/tokenizer.h"

namespace dtl::trainer {

struct Prepared {
  ModelConfig config;
  Examples train, evaluation, test;  // empty where the settings ask for none
  std::vector<float> parameters;     // of layout_parameters(config)

  // Rank 0 only.
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> notices;  // for the user
};

// Reads and tokenises. Throws Error(kBadInput) naming the file.
Prepared prepare(const Settings& settings);

// On rank 0 `prepared` is read, on the others it is filled.
void share(Group& group, Prepared& prepared);

}  // namespace dtl::trainer
