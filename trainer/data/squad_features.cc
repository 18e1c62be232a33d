// Turns questions into Examples. The tokenizer cuts the windows (encode_question()).
#include "trainer/data/squad_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "trainer/maths/on_threads.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

struct Span {
  std::int32_t start = 0, end = 0;  // tokens of a window, inclusive
};

// The tokens of a window that hold the answer; 0, 0 if the window does not hold all of it. If the
// answer starts in the last context token, Hugging Face's loop runs on to the end of the window;
// this one stops at that token.
Span answer_tokens(const Window& window, const SquadExample& example) {
  if (example.answers.empty()) return {};
  const SquadAnswer& answer = example.answers.front();
  const std::int64_t begin = answer.start;
  const auto end = begin + static_cast<std::int64_t>(count_code_points(answer.text));
  const auto of_context = [](const Offset& offset) { return offset != Offset{}; };
  const auto& offsets = window.offsets;
  const auto found = std::find_if(offsets.begin(), offsets.end(), of_context);
  if (found == offsets.end()) return {};
  auto start_token = static_cast<std::size_t>(found - offsets.begin());
  std::size_t end_token = offsets.size() - 2;  // the last is [SEP]
  if (offsets[start_token].begin > begin || offsets[end_token].end < end) return {};
  const std::size_t first = start_token, last = end_token;
  // run_qa's loops stop one token late and step back; here indices stay on the token.
  while (start_token < last && offsets[start_token + 1].begin <= begin) ++start_token;
  while (end_token > first && offsets[end_token - 1].end >= end) --end_token;
  return {static_cast<std::int32_t>(start_token), static_cast<std::int32_t>(end_token)};
}

enum class Purpose { kTraining, kEvaluation };

template <typename T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void add_window(const Window& window, const SquadExample& example, std::size_t question,
                Purpose purpose, SquadFeatures& to) {
  append_all(to.windows.ids, window.ids);
  append_all(to.windows.types, window.types);
  to.windows.starts.push_back(static_cast<std::int64_t>(to.windows.ids.size()));
  to.questions.push_back(static_cast<std::int64_t>(question));
  // Evaluation needs offsets, to cut answers out of the context; training needs positions.
  if (purpose == Purpose::kEvaluation) {
    append_all(to.offsets, window.offsets);
    return;
  }
  const Span answer = answer_tokens(window, example);
  to.windows.answer_starts.push_back(answer.start);
  to.windows.answer_ends.push_back(answer.end);
}

void append_all(SquadFeatures& to, const SquadFeatures& part) {
  // `part` counts its starts from its own first token.
  const std::int64_t base = to.windows.starts.back();
  append_all(to.windows.ids, part.windows.ids);
  append_all(to.windows.types, part.windows.types);
  append_all(to.windows.answer_starts, part.windows.answer_starts);
  append_all(to.windows.answer_ends, part.windows.answer_ends);
  append_all(to.offsets, part.offsets);
  append_all(to.questions, part.questions);
  for (std::size_t i = 1; i < part.windows.starts.size(); ++i) {
    to.windows.starts.push_back(base + part.windows.starts[i]);
  }
}

std::vector<Window> windows_of(const SquadExample& example, const Tokenizer& tokenizer,
                               int max_length, int stride) {
  try {
    return tokenizer.encode_question(example.question, example.context, max_length, stride);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("question '{}'", example.id));
  }
}

SquadFeatures make_features(const std::vector<SquadExample>& examples, const Tokenizer& tokenizer,
                            int max_length, int stride, int threads, Purpose purpose) {
  constexpr std::size_t kBlock = 64;  // questions per task: makes handing out tasks cheap
  std::vector<SquadFeatures> parts((examples.size() + kBlock - 1) / kBlock);
  on_threads(parts.size(), threads, [&](std::size_t block) {
    SquadFeatures& part = parts[block];
    part.windows.starts.push_back(0);
    const std::size_t end = std::min(examples.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) {
      for (const Window& window : windows_of(examples[i], tokenizer, max_length, stride)) {
        add_window(window, examples[i], i, purpose, part);
      }
    }
  });
  SquadFeatures features;
  features.windows.starts.push_back(0);
  // In block order, so that questions are ascending.
  for (const SquadFeatures& part : parts) append_all(features, part);
  return features;
}

}  // namespace

SquadFeatures training_features(const std::vector<SquadExample>& examples,
                                const Tokenizer& tokenizer, int max_length, int stride,
                                int threads) {
  return make_features(examples, tokenizer, max_length, stride, threads, Purpose::kTraining);
}

SquadFeatures evaluation_features(const std::vector<SquadExample>& examples,
                                  const Tokenizer& tokenizer, int max_length, int stride,
                                  int threads) {
  return make_features(examples, tokenizer, max_length, stride, threads, Purpose::kEvaluation);
}

void keep_first_windows(SquadFeatures& features, std::int64_t count) {
  Examples& windows = features.windows;
  if (count >= windows.size()) return;
  const auto kept = static_cast<std::size_t>(count);
  const auto tokens = static_cast<std::size_t>(windows.starts[kept]);
  windows.ids.resize(tokens);
  windows.types.resize(tokens);
  windows.starts.resize(kept + 1);
  windows.answer_starts.resize(kept);
  windows.answer_ends.resize(kept);
  features.questions.resize(kept);
}

}  // namespace dtl::trainer
