// Cuts a rank's share into micro-batches. sampler.h makes the shares.
#include "trainer/step/step_share.h"

namespace dtl::trainer {

std::span<const std::int64_t> StepShare::part(int m) const {
  const std::span<const std::int64_t> all = mine();
  const auto parts = static_cast<std::size_t>(micro_batches);
  const std::size_t begin = all.size() * static_cast<std::size_t>(m) / parts;
  const std::size_t end = all.size() * static_cast<std::size_t>(m + 1) / parts;
  return all.subspan(begin, end - begin);
}

}  // namespace dtl::trainer
