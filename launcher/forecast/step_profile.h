#pragma once
// Reads what dttrain measured: step_profile.json of its output folder, dttrain(1). Another program
// wrote it, maybe another version, so every value is checked.

#include <string>

#include "launcher/forecast/forecast_model.h"

namespace dtl {

struct ReadProfile {
  MeasuredStep step;
  std::string folder;  // as typed
  int threads = 1;     // of each rank
};

// Throws Error(kBadInput) naming file and member.
ReadProfile read_step_profile(const std::string& folder);
// The same for its text; `path` is for messages.
MeasuredStep parse_step_profile(const std::string& text, const std::string& path, int* threads);

}  // namespace dtl
