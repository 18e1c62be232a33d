#pragma once
// The seeds of a simulation: 1 to `runs`, or 1 to DTL_SIM_RUNS, or only DTL_SIM_SEED.

#include <cstdint>
#include <cstdlib>

namespace dtl::sim {

struct Seeds {
  std::uint64_t first = 1, end = 1;

  // Enough to say what they have in common.
  bool are_many() const { return end - first >= 1000; }
};

inline Seeds chosen_seeds(std::uint64_t runs = 5000) {
  const auto number_in = [](const char* text) { return std::strtoull(text, nullptr, 10); };
  Seeds seeds;
  seeds.end = seeds.first + runs;
  if (const char* one = std::getenv("DTL_SIM_SEED")) {
    seeds.first = number_in(one);
    seeds.end = seeds.first + 1;
  } else if (const char* many = std::getenv("DTL_SIM_RUNS")) {
    seeds.end = seeds.first + number_in(many);
  }
  return seeds;
}

}  // namespace dtl::sim
