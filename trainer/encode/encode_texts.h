#pragma once
// The command `dttrain encode`: embeddings of the texts of a file, computed by all ranks.

#include "trainer/encode/encode_settings.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Collective. Rank 0 reads and writes, and tells how many texts a second there were. Returns the
// exit status. Throws Error; then the output file is as it was before.
int run_encode(const EncodeSettings& settings, Ranks& group);

}  // namespace dtl::trainer
