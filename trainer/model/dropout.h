#pragma once
// Dropout masks from a counter: a mask depends on seed, step, site, the example's number and the
// element's place in it, and on nothing else. So neither the number of ranks or threads nor the
// company of a sequence in its batch changes what is dropped.

#include <cstdint>

namespace dtl::trainer {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
};

// The places in the model that drop: one number each, layers counted from 0.
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
// Beyond the sites of all layers that a model may have (kMaxLayers in model_config.cc).
constexpr std::uint32_t kClassifierSite = 0xFFFF;

// A probability rounded to 1/65536, and the factor that makes up for exactly that one.
class Dropout {
 public:
  explicit Dropout(double probability);
  bool active() const { return threshold_ < 65536; }
  double scale() const { return 65536.0 / threshold_; }
  // The first `count` elements of (key, site, part, example); part tells heads apart.
  void mask(const DropoutKey& key, std::uint32_t site, std::uint32_t part, std::uint32_t example,
            std::int64_t count, std::uint8_t* out) const;

 private:
  std::uint32_t threshold_;
};

}  // namespace dtl::trainer
