#include "trainer/layers/rotary.h"

#include <cmath>

#include "trainer/layers/layer.h"

namespace dtl::trainer {
namespace {

// Each step rounds to float32 where transformers' does: at position 2,000, the last bit of a
// frequency is the fourth decimal of an angle.
std::vector<float> frequencies(double theta, int half) {
  std::vector<float> all;
  for (int i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(2 * half);
    const auto power = static_cast<float>(
        std::pow(static_cast<double>(static_cast<float>(theta)), static_cast<double>(exponent)));
    all.push_back(1.0F / power);
  }
  return all;
}

}  // namespace

void RotaryTables::extend(const ModelConfig& config, std::int64_t length) {
  if (length <= length_) return;
  const int half = config.hidden_size / config.heads / 2;
  for (const bool local : {false, true}) {
    const std::vector<float> all =
        frequencies(local ? config.pre_norm.local_theta : config.pre_norm.global_theta, half);
    Table& table = tables_[local ? 1 : 0];
    for (std::int64_t position = length_; position < length; ++position) {
      for (const float frequency : all) {
        const float angle = static_cast<float>(position) * frequency;
        table.cosines.push_back(static_cast<float>(std::cos(static_cast<double>(angle))));
        table.sines.push_back(static_cast<float>(std::sin(static_cast<double>(angle))));
      }
    }
  }
  length_ = length;
}

template <class S>
void rotate_heads(const Pass& pass, bool local, const RowChoice* choice, Turn turn, S* x,
                  std::int64_t stride) {
  const std::int64_t H = pass.config.hidden_size;
  const std::int64_t heads = pass.config.heads, half = H / heads / 2;
  const float *cosines = pass.rotary->cosines(local), *sines = pass.rotary->sines(local);
  const std::int64_t rows = choice ? std::ssize(choice->tokens) : pass.batch.tokens();
  const S sign = turn == Turn::kForward ? S(1) : S(-1);
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t token = choice ? choice->tokens[static_cast<std::size_t>(row)] : row;
      const std::int64_t at = pass.batch.positions[static_cast<std::size_t>(token)] * half;
      kernels<S>().rotate(heads, half, cosines + at, sines + at, sign, x + row * stride);
    }
  });
}

template void rotate_heads<float>(const Pass&, bool, const RowChoice*, Turn, float*, std::int64_t);
template void rotate_heads<double>(const Pass&, bool, const RowChoice*, Turn, double*,
                                   std::int64_t);

}  // namespace dtl::trainer
