#pragma once
// Dropout masks from a counter. A mask depends only on seed, step, site, the example's number and
// the element's index. So the number of ranks or threads and the other sequences of a batch do not
// change what is dropped.

#include <cstdint>

namespace dtl::trainer {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
};

// Places in the model with dropout: one number each, layers counted from 0.
constexpr std::uint32_t kEmbeddingSite = 0;
constexpr std::uint32_t attention_site(int layer) {
  return 1 + 3 * static_cast<std::uint32_t>(layer);
}
constexpr std::uint32_t attention_output_site(int layer) {
  return attention_site(layer) + 1;
}
constexpr std::uint32_t feed_forward_site(int layer) {
  return attention_site(layer) + 2;
}
// The table of distances (disentangled_terms.h), which each layer drops anew.
constexpr std::uint32_t distance_site(int layer) {
  return 0x8000 + static_cast<std::uint32_t>(layer);
}
// Above the sites of all layers that a model may have (kMaxLayers in model_config.cc).
constexpr std::uint32_t kClassifierSite = 0xFFFF;
constexpr std::uint32_t kHeadDenseSite = 0xFFFE;

// A probability rounded to 1/65536, and the scale that compensates for it exactly.
class Dropout {
 public:
  explicit Dropout(double probability);
  bool active() const { return threshold_ < 65536; }
  double scale() const { return 65536.0 / threshold_; }
  // The first `count` elements of the mask for (key, site, part, example). part is the head.
  void mask(const DropoutKey& key, std::uint32_t site, std::uint32_t part, std::uint32_t example,
            std::int64_t count, std::uint8_t* out) const;

 private:
  std::uint32_t threshold_;
};

}  // namespace dtl::trainer
