// Special tokens, truncation and windows, on ids only.
#include "trainer/tokens/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/load_subwords.h"
#include "trainer/tokens/wordpiece.h"

namespace dtl::trainer {
namespace {

constexpr int kTextSpecials = 2;  // [CLS] A [SEP]

int pair_specials(const Frame& frame) {
  return kTextSpecials + frame.separators;
}

using Ids = std::vector<std::int32_t>;

// How many ids of each text to keep if both together may have `budget`: transformers'
// longest_first. Cuts the longer text until both are equal, then both. An odd budget gives one more
// id to the second text, or to the first if it was longer.
std::pair<std::size_t, std::size_t> shared_budget(std::size_t first, std::size_t second,
                                                  std::size_t budget) {
  if (first + second <= budget) return {first, second};
  const bool swapped = first > second;
  std::size_t shorter = swapped ? second : first;
  std::size_t longer = shorter;
  if (shorter <= budget) longer = std::max(shorter, budget - shorter);
  if (shorter + longer > budget) {
    shorter = budget / 2;
    longer = shorter + budget % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

// The ids that remain of a text cut to `count`.
std::span<const std::int32_t> kept_ids(const Frame& frame, const Ids& ids, std::size_t count) {
  const std::span<const std::int32_t> all(ids);
  return frame.truncate_left ? all.last(count) : all.first(count);
}

// [CLS] first [SEP], to which a second text is then added.
Ids first_part(const Frame& frame, std::span<const std::int32_t> first, std::size_t room) {
  Ids ids;
  ids.reserve(first.size() + room);
  ids.push_back(frame.first);
  ids.insert(ids.end(), first.begin(), first.end());
  ids.push_back(frame.separator);
  return ids;
}

// What comes between the texts besides the first [SEP], which has type 0.
void add_separators(const Frame& frame, Ids& ids) {
  ids.insert(ids.end(), static_cast<std::size_t>(frame.separators - 1), frame.separator);
}

// [CLS] asked [SEP] given[begin, end) [SEP]. Only context tokens have offsets.
Window window_of(const Frame& frame, const Ids& asked, const Tokens& given, std::ptrdiff_t begin,
                 std::ptrdiff_t end) {
  Window window;
  window.ids = first_part(frame, asked, static_cast<std::size_t>(end - begin) + 4);
  window.types.assign(window.ids.size(), 0);
  add_separators(frame, window.ids);
  window.offsets.resize(window.ids.size());
  const std::size_t first = window.ids.size();
  window.ids.insert(window.ids.end(), given.ids.begin() + begin, given.ids.begin() + end);
  window.offsets.insert(window.offsets.end(), given.offsets.begin() + begin,
                        given.offsets.begin() + end);
  if (begin < end && !given.first_offsets.empty()) {
    window.offsets[first] = given.first_offsets[static_cast<std::size_t>(begin)];
  }
  window.ids.push_back(frame.separator);
  window.types.resize(window.ids.size(), frame.second_type);
  window.offsets.emplace_back();
  return window;
}

TokenizerRules rules_of(std::vector<std::string> vocabulary, bool lower_case,
                        int model_max_length) {
  TokenizerRules rules = make_rules(std::move(vocabulary), lower_case);
  rules.model_max_length = model_max_length;
  return rules;
}

}  // namespace

Tokenizer Tokenizer::load(const std::string& folder) {
  return Tokenizer(load_subwords(folder));
}

Tokenizer::Tokenizer(std::unique_ptr<const Subwords> subwords) : subwords_(std::move(subwords)) {}

Tokenizer::Tokenizer(std::vector<std::string> vocabulary, bool lower_case, int model_max_length)
    : Tokenizer(make_wordpiece(rules_of(std::move(vocabulary), lower_case, model_max_length))) {}

Encoding Tokenizer::encode(std::string_view text, int max_length) const {
  const Frame& frame = subwords_->frame();
  const Ids all = subwords_->tokens_of(text, false).ids;
  const auto room = static_cast<std::size_t>(std::max(0, max_length - kTextSpecials));
  const auto kept = kept_ids(frame, all, std::min(all.size(), room));
  Ids ids = first_part(frame, kept, kTextSpecials);
  const std::size_t length = ids.size();
  return {std::move(ids), std::vector<std::int8_t>(length, 0), kept.size() < all.size()};
}

void Tokenizer::check_pair_length(int max_length) const {
  const int specials = pair_specials(subwords_->frame());
  if (max_length > specials) return;
  throw Error(Exit::kUsage, fmt::format("--max_seq_length {}", max_length),
              fmt::format("a pair of texts has {} special tokens, so no other would fit", specials),
              "--max_seq_length 128");
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                int max_length) const {
  const Frame& frame = subwords_->frame();
  const Ids a = subwords_->tokens_of(first, false).ids, b = subwords_->tokens_of(second, false).ids;
  const auto room = static_cast<std::size_t>(std::max(0, max_length - pair_specials(frame)));
  const auto [count_a, count_b] = shared_budget(a.size(), b.size(), room);
  const auto kept_a = kept_ids(frame, a, count_a), kept_b = kept_ids(frame, b, count_b);
  Encoding encoding;
  Ids& ids = encoding.ids;
  ids = first_part(frame, kept_a, count_b + 4);
  encoding.types.assign(ids.size(), 0);
  add_separators(frame, ids);
  ids.insert(ids.end(), kept_b.begin(), kept_b.end());
  ids.push_back(frame.separator);
  encoding.types.resize(ids.size(), frame.second_type);
  encoding.cut = count_a < a.size() || count_b < b.size();
  return encoding;
}

WordEncoding Tokenizer::encode_words(std::span<const std::string> words, int max_length) const {
  const Frame& frame = subwords_->frame();
  WordEncoding all;
  for (std::size_t word = 0; word < words.size(); ++word) {
    const Ids ids = subwords_->tokens_of_word(words[word]).ids;
    all.ids.insert(all.ids.end(), ids.begin(), ids.end());
    all.words.resize(all.ids.size(), static_cast<std::int32_t>(word));
  }
  const auto room = static_cast<std::size_t>(std::max(0, max_length - kTextSpecials));
  const std::size_t count = std::min(all.ids.size(), room);
  const auto kept = kept_ids(frame, all.ids, count), kept_words = kept_ids(frame, all.words, count);
  WordEncoding encoding;
  encoding.ids = first_part(frame, kept, kTextSpecials);
  encoding.words.reserve(count + kTextSpecials);
  encoding.words.push_back(kNoWord);
  encoding.words.insert(encoding.words.end(), kept_words.begin(), kept_words.end());
  encoding.words.push_back(kNoWord);
  // Adjacent tokens of one word count once.
  const std::span<const std::int32_t> lost =
      frame.truncate_left ? std::span(all.words).first(all.ids.size() - count)
                          : std::span(all.words).subspan(count);
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (i == 0 || lost[i] != lost[i - 1]) ++encoding.words_cut;
  }
  return encoding;
}

std::vector<Window> Tokenizer::encode_question(std::string_view question, std::string_view context,
                                               int max_length, int stride) const {
  const Frame& frame = subwords_->frame();
  // As in run_qa: some SQuAD questions begin with blanks, which would otherwise count as too long.
  question.remove_prefix(leading_blanks(question));
  const Ids asked = subwords_->tokens_of(question, false).ids;
  const Tokens given = subwords_->tokens_of(context, true);
  const auto length = static_cast<std::ptrdiff_t>(given.ids.size());
  const auto room =
      std::ptrdiff_t{max_length} - pair_specials(frame) - static_cast<std::ptrdiff_t>(asked.size());
  // The loop would not advance: each window would repeat the whole previous one.
  if (length > room && room <= std::max(0, stride)) {
    throw Error(
        Exit::kBadInput, fmt::format("--max_seq_length {}", max_length),
        fmt::format("the question takes {} tokens and leaves {} for the context, but "
                    "windows share --doc_stride {}",
                    asked.size(), std::max<std::ptrdiff_t>(0, room), stride),
        room > 1 ? fmt::format("--doc_stride {}", room / 2)
                 : fmt::format("--max_seq_length {}", max_length - room + 2 * std::max(1, stride)));
  }
  std::vector<Window> windows;
  // The first window is what truncation would keep; the others continue from there.
  for (std::ptrdiff_t done = 0;; done += room - stride) {
    const std::ptrdiff_t until = std::min(length, done + room);
    windows.push_back(frame.truncate_left
                          ? window_of(frame, asked, given, length - until, length - done)
                          : window_of(frame, asked, given, done, until));
    if (until == length) return windows;
  }
}

int Tokenizer::vocabulary_size() const {
  return subwords_->size();
}

std::optional<std::int64_t> Tokenizer::max_length() const {
  return subwords_->frame().max_length;
}

std::optional<std::int32_t> Tokenizer::mask_id() const {
  return subwords_->frame().mask;
}

std::vector<TokenKind> Tokenizer::token_kinds() const {
  const Frame& frame = subwords_->frame();
  std::vector<TokenKind> kinds;
  for (std::int32_t id = 0; id < subwords_->size(); ++id) {
    const bool special =
        id == frame.first || id == frame.separator || id == frame.padding || id == frame.mask;
    kinds.push_back(special                         ? TokenKind::kSpecial
                    : subwords_->continues_word(id) ? TokenKind::kContinues
                                                    : TokenKind::kBegins);
  }
  return kinds;
}

int Tokenizer::padding_id() const {
  return subwords_->frame().padding;
}

void Tokenizer::save(const std::string& folder) const {
  subwords_->save(folder);
}

}  // namespace dtl::trainer
