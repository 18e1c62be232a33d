#pragma once
// Which tokens of a batch a masked language model has to guess, and what stands in their places.
// Both depend only on seed, step, the text's number and the token's position in it. So the other
// texts of a batch and the number of ranks change nothing. Pure functions.

#include <cstdint>
#include <span>

#include "trainer/layers/batch.h"
#include "trainer/layers/dropout.h"

namespace dtl::trainer {

// Masks by the rule, if it has a probability above 0: 80 % of the chosen tokens become the mask
// token, 10 % any token, 10 % stay (Devlin et al. 2019). Sets batch.masked and batch.originals.
void mask_tokens(const DropoutKey& key, const MaskingRule& rule, Batch& batch);

// How many tokens mask_tokens() chooses in these examples.
std::int64_t count_masked(const DropoutKey& key, const Examples& examples,
                          std::span<const std::int64_t> chosen);

}  // namespace dtl::trainer
