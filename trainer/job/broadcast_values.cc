// Sends texts as a size and bytes. Sends metrics as one text of names, one per line, and an array
// of doubles, so that all ranks have the same bits.
#include "trainer/job/broadcast_values.h"

#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kSizeTag = 0xFFFF0040, kBytesTag = 0xFFFF0041, kValuesTag = 0xFFFF0042;

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

}  // namespace dtl::trainer
