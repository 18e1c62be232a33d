#pragma once
// What a run starts from. Rank 0 makes it from files and hands it to the others through the
// library, so only rank 0's host needs the files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/data/squad_features.h"
#include "trainer/files/model_config.h"
#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

// A data set to evaluate or to predict for; mnli has two of each.
struct Questioned {
  Examples examples;  // question answering: windows

  // Rank 0 only.
  std::string suffix;                   // "", or "-mm"
  std::vector<int> lines;               // of the file, where each example of a classifier begins
  std::vector<SquadExample> questions;  // question answering
  SquadFeatures features;               // without its windows, which are `examples`
};

struct Prepared {
  ModelConfig config;
  int length = 0;  // tokens of an example at most
  Examples train;  // empty where the settings ask for none, as the two below
  std::vector<Questioned> evaluation, test;
  std::vector<float> parameters;  // of layout_parameters(config)

  // Rank 0 only.
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> data_sets;   // for the user, a line about each
  std::vector<std::string> notices;     // for the user
  std::int64_t training_questions = 0;  // question answering: examples that windows were made of
};

// Reads and tokenises; settings.task is known. Throws Error(kBadInput) naming the file; what there
// was to tell the user until then is in `prepared`.
void prepare(const Settings& settings, Prepared& prepared);

// On rank 0 `prepared` is read, on the others it is filled.
void share(Ranks& group, Prepared& prepared);

}  // namespace dtl::trainer
