#pragma once
// Rotary positions: queries and keys turn by angles that grow with their position, so that their
// products depend on the distance of two tokens. With half a head's width h and theta the base,
//   angle(p, i) = p / theta^(i / h),   (x_i, x_(i+h)) becomes
//   (x_i cos - x_(i+h) sin, x_(i+h) cos + x_i sin)
// (Su et al. 2021, in the order of transformers' rotate_half). Cosines and sines are float32 values
// of float32 angles, as in transformers. The model owns the tables; one thread extends them.

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

struct Pass;
struct RowChoice;

class RotaryTables {
 public:
  // Makes room for texts of `length` tokens; forgets nothing.
  void extend(const ModelConfig& config, std::int64_t length);
  // [positions, half a head's width].
  const float* cosines(bool local) const { return tables_[local ? 1 : 0].cosines.data(); }
  const float* sines(bool local) const { return tables_[local ? 1 : 0].sines.data(); }

 private:
  struct Table {
    std::vector<float> cosines, sines;
  };
  std::array<Table, 2> tables_;  // of global layers, of local ones
  std::int64_t length_ = 0;
};

enum class Turn { kForward, kBack };

// Turns all heads of x, rows [R, H] with a stride: the tokens of the batch, or the chosen ones.
// kBack undoes kForward; a gradient at the turned rows becomes that at the rows before.
template <class S>
void rotate_heads(const Pass& pass, bool local, const RowChoice* choice, Turn turn, S* x,
                  std::int64_t stride);

}  // namespace dtl::trainer
