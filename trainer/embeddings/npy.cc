// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "trainer/embeddings/npy.h"

#include <fmt/format.h>

namespace dtl::trainer {

std::string npy_header(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kMagicBytes = 10, kAlign = 64;
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{}, ", extent);
  // A tuple of one element keeps its comma.
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", extents);
  const std::size_t bytes = kMagicBytes + text.size() + 1;
  text.append((kAlign - bytes % kAlign) % kAlign, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

std::string npy_bytes(const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
  std::string bytes = npy_header(shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

}  // namespace dtl::trainer
