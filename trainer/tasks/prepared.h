#pragma once
// The inputs of a run. Rank 0 reads them from files and broadcasts them, so only rank 0's host
// needs the files.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/families/model_config.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

// What a task keeps for itself, on rank 0: it makes a derived value and casts it back.
struct TaskMemo {
  virtual ~TaskMemo() = default;
};

// A data set for evaluation or prediction; mnli has two of each.
struct Questioned {
  Examples examples;  // question answering: windows

  // Rank 0 only.
  std::string suffix;                    // "", or "-mm"
  std::vector<int> lines;                // the line where each of a classifier's examples begins
  std::vector<std::string> texts;        // how these begin, for report.html; empty: not shown
  std::shared_ptr<const TaskMemo> memo;  // what else the task needs to score it; may be null
};

struct Prepared {
  ModelConfig config;
  int length = 0;  // maximum length of an example, in tokens
  HeadLoss loss;   // of this run
  Examples train;  // empty if not requested; so are the next two
  std::vector<Questioned> evaluation, test;
  std::vector<float> parameters;  // of layout_parameters(config)

  // Rank 0 only.
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> data_sets;  // one line about each, for the user
  std::vector<std::string> notices;    // for the user
  std::vector<std::string> weights;    // .. about weights, if no checkpoint replaces them
};

}  // namespace dtl::trainer
