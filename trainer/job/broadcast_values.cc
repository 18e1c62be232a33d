// Sends texts as a size and bytes. Sends metrics as one text of names, one per line, and an array
// of doubles, so that all ranks have the same bits.
#include "trainer/job/broadcast_values.h"

#include <algorithm>

#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kSizeTag = 0xFFFF0040, kBytesTag = 0xFFFF0041, kValuesTag = 0xFFFF0042,
                        kTextsTag = 0xFFFF0043;
constexpr std::size_t kTextBytes = 64;  // of a rank's text; Linux' longest host name

}  // namespace

void share_text(Ranks& group, std::string& text) {
  if (group.size() == 1) return;
  std::uint64_t size = text.size();
  group.broadcast(&size, sizeof size, kSizeTag);
  text.resize(size);
  if (size > 0) group.broadcast(text.data(), size, kBytesTag);
}

void share_metrics(Ranks& group, MetricList& metrics) {
  if (group.size() == 1) return;
  std::string names;
  std::vector<double> values;
  for (const auto& [name, value] : metrics) {
    names += name + "\n";
    values.push_back(value);
  }
  share_text(group, names);
  const std::vector<std::string> list = split(names, '\n');
  std::vector<std::string> kept;
  for (const std::string& name : list) {
    if (!name.empty()) kept.push_back(name);
  }
  values.resize(kept.size());
  // Rank 0 has no metrics, so the other ranks keep theirs.
  if (values.empty()) return;
  group.broadcast(values.data(), values.size() * sizeof(double), kValuesTag);
  metrics.clear();
  for (std::size_t i = 0; i < kept.size(); ++i) metrics.emplace_back(kept[i], values[i]);
}

// Each rank fills its own row and leaves zeros elsewhere, so the sum contains all rows. A float
// holds every byte.
std::vector<std::string> gather_texts(Ranks& group, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<float> rows(ranks * kTextBytes);
  float* own = rows.data() + static_cast<std::size_t>(group.rank()) * kTextBytes;
  for (std::size_t i = 0; i < std::min(text.size(), kTextBytes); ++i) {
    own[i] = static_cast<float>(static_cast<unsigned char>(text[i]));
  }
  group.sum(rows.data(), rows.size(), kTextsTag);
  std::vector<std::string> texts;
  if (group.rank() != 0) return texts;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::string& of_rank = texts.emplace_back();
    for (std::size_t i = 0; i < kTextBytes && rows[r * kTextBytes + i] > 0; ++i) {
      of_rank += static_cast<char>(static_cast<unsigned char>(rows[r * kTextBytes + i]));
    }
  }
  return texts;
}

}  // namespace dtl::trainer
