#pragma once
// Which engine is to be believed: what of each is in the environment, and what the user says. Pure.

#include <optional>
#include <string>

#include "plan/engines/engine.h"
#include "plan/engines/engine_reader.h"

namespace dtl {

struct Sighting {
  Engine engine = Engine::kNone;
  std::string variable;  // that shows it; empty: none does
};

// The engine to read the evidence of. Throws Error(kUsage): two unrelated engines, or nothing of
// the one that is wanted.
Sighting choose_engine(const EngineReader& variables, std::optional<Engine> wanted);

}  // namespace dtl
