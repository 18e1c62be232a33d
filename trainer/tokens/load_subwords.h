#pragma once
// Reads the tokenizer of a model folder, of any kind that is implemented.

#include <memory>
#include <string>

#include "trainer/tokens/subwords.h"

namespace dtl::trainer {

// Throws Error(kBadInput) naming the file and what it cannot use.
std::unique_ptr<const Subwords> load_subwords(const std::string& folder);

}  // namespace dtl::trainer
