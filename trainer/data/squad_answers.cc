// Follows postprocess_qa_predictions in utils_qa.py step by step, including the order of ties and
// float rounding, so that answers are the same. squad_metrics.h computes metrics.
#include "trainer/data/squad_answers.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Candidate {
  Offset place;
  float start_logit = 0, end_logit = 0;

  float score() const { return start_logit + end_logit; }  // rounded to float, as in numpy
};

constexpr Offset kNoAnswer{0, 0};

// Logits and token offsets of one window.
struct WindowLogits {
  std::span<const float> logits;    // [n, 2]
  std::span<const Offset> offsets;  // [n]

  std::size_t size() const { return offsets.size(); }
  float start(std::size_t token) const { return logits[2 * token]; }
  float end(std::size_t token) const { return logits[2 * token + 1]; }
};

WindowLogits window_logits(const SquadFeatures& features, std::span<const float> logits,
                           std::size_t window) {
  const auto begin = static_cast<std::size_t>(features.windows.starts[window]);
  const std::size_t count = static_cast<std::size_t>(features.windows.starts[window + 1]) - begin;
  return {logits.subspan(2 * begin, 2 * count), std::span(features.offsets).subspan(begin, count)};
}

// The tokens of the n greatest logits, greatest first; of equal ones the later first, as in
// numpy.argsort(..)[-1 : -n - 1 : -1].
template <typename Logit>
std::vector<std::size_t> greatest(std::size_t count, int n, const Logit& logit) {
  std::vector<std::size_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), std::size_t{0});
  const std::size_t kept = std::min(count, static_cast<std::size_t>(std::max(0, n)));
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept),
                    tokens.end(), [&](std::size_t a, std::size_t b) {
                      return logit(a) != logit(b) ? logit(a) > logit(b) : a > b;
                    });
  tokens.resize(kept);
  return tokens;
}

void add_candidates(const WindowLogits& window, const AnswerSettings& settings,
                    std::vector<Candidate>& candidates) {
  const auto starts = greatest(window.size(), settings.n_best_size,
                               [&](std::size_t token) { return window.start(token); });
  const auto ends = greatest(window.size(), settings.n_best_size,
                             [&](std::size_t token) { return window.end(token); });
  for (const std::size_t start : starts) {
    if (window.offsets[start] == Offset{}) continue;  // in the question, [CLS] or [SEP]
    for (const std::size_t end : ends) {
      if (window.offsets[end] == Offset{} || end < start) continue;
      if (end - start + 1 > static_cast<std::size_t>(settings.max_answer_length)) continue;
      candidates.push_back({{window.offsets[start].begin, window.offsets[end].end},
                            window.start(start),
                            window.end(end)});
    }
  }
}

// Sorts by score, best first, and truncates. Keeps the null answer whatever its score.
void keep_best(std::vector<Candidate>& candidates, const AnswerSettings& settings,
               const std::optional<Candidate>& none) {
  if (none) candidates.push_back(*none);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score() > b.score(); });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(settings.n_best_size)));
  const bool has_none = std::any_of(candidates.begin(), candidates.end(),
                                    [](const Candidate& c) { return c.place == kNoAnswer; });
  if (none && !has_none) candidates.push_back(*none);
}

// Cuts substrings by code points.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {
    for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) begins_.push_back(at);
    begins_.push_back(text.size());
  }

  std::string piece(Offset place) const {
    const std::size_t begin = begins_[static_cast<std::size_t>(place.begin)];
    const std::size_t end = begins_[static_cast<std::size_t>(place.end)];
    return std::string(text_.substr(begin, end - begin));
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_;
};

// Sets probabilities to the softmax of the scores.
void set_probabilities(std::vector<AnswerCandidate>& candidates) {
  std::vector<double> scores;
  for (const AnswerCandidate& c : candidates) {
    scores.push_back(static_cast<double>(c.start_logit + c.end_logit));
  }
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - highest);
  for (std::size_t i = 0; i < scores.size(); ++i) candidates[i].probability = scores[i] / sum;
}

// Chooses the best text; "" if the null answer is better by more than the threshold.
void choose(const AnswerSettings& settings, const std::optional<Candidate>& none,
            QuestionAnswer& answer) {
  answer.text = answer.candidates.front().text;
  if (!none) return;
  const auto best = std::find_if(answer.candidates.begin(), answer.candidates.end(),
                                 [](const AnswerCandidate& c) { return !c.text.empty(); });
  assert(best != answer.candidates.end());
  answer.null_odds = static_cast<double>(none->score() - best->start_logit - best->end_logit);
  answer.text = answer.null_odds > settings.null_score_diff_threshold ? "" : best->text;
}

QuestionAnswer answer_of(const SquadExample& example, std::span<const WindowLogits> windows,
                         const AnswerSettings& settings) {
  std::vector<Candidate> candidates;
  std::optional<Candidate> none;  // the null answer with the lowest score over the windows
  for (const WindowLogits& window : windows) {
    // Token 0 is [CLS], the training target for "no answer".
    const Candidate null{kNoAnswer, window.start(0), window.end(0)};
    if (settings.version_2_with_negative && (!none || null.score() < none->score())) none = null;
    add_candidates(window, settings, candidates);
  }
  keep_best(candidates, settings, none);
  const Characters context(example.context);
  QuestionAnswer answer;
  for (const Candidate& c : candidates) {
    answer.candidates.push_back({context.piece(c.place), c.start_logit, c.end_logit});
  }
  if (std::all_of(answer.candidates.begin(), answer.candidates.end(),
                  [](const AnswerCandidate& c) { return c.text.empty(); })) {
    // As in utils_qa.py, so that there is always a text.
    answer.candidates.insert(answer.candidates.begin(), {"empty", 0, 0});
  }
  set_probabilities(answer.candidates);
  choose(settings, none, answer);
  return answer;
}

// json.dumps(.., indent=4) and a newline.
std::string dump(const OrderedJson& json) {
  return json.dump(4, ' ', /*ensure_ascii=*/true) + "\n";
}

// Append to the underlying vector, since ids are unique: an ordered object would scan all members.
template <typename Value>
std::string object_by_id(const std::vector<SquadExample>& examples,
                         const std::vector<QuestionAnswer>& answers, const Value& value) {
  OrderedJson json = OrderedJson::object();
  auto& members = json.get_ref<OrderedJson::object_t&>();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    members.push_back({examples[i].id, value(answers[i])});
  }
  return dump(json);
}

}  // namespace

std::vector<QuestionAnswer> choose_answers(const std::vector<SquadExample>& examples,
                                           const SquadFeatures& features,
                                           std::span<const float> logits,
                                           const AnswerSettings& settings) {
  assert(logits.size() == 2 * features.offsets.size());
  std::vector<QuestionAnswer> answers;
  std::vector<WindowLogits> windows;
  std::size_t next = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    windows.clear();
    // Windows of a question are adjacent, because questions are in ascending order.
    for (; next < features.questions.size() &&
           features.questions[next] == static_cast<std::int64_t>(i);
         ++next) {
      windows.push_back(window_logits(features, logits, next));
    }
    answers.push_back(answer_of(examples[i], windows, settings));
  }
  return answers;
}

std::string predictions_json(const std::vector<SquadExample>& examples,
                             const std::vector<QuestionAnswer>& answers) {
  return object_by_id(examples, answers,
                      [](const QuestionAnswer& answer) { return OrderedJson(answer.text); });
}

std::string nbest_json(const std::vector<SquadExample>& examples,
                       const std::vector<QuestionAnswer>& answers) {
  return object_by_id(examples, answers, [](const QuestionAnswer& answer) {
    OrderedJson list = OrderedJson::array();
    for (const AnswerCandidate& c : answer.candidates) {
      list.push_back({{"start_logit", static_cast<double>(c.start_logit)},
                      {"end_logit", static_cast<double>(c.end_logit)},
                      {"text", c.text},
                      {"probability", c.probability}});
    }
    return list;
  });
}

std::string null_odds_json(const std::vector<SquadExample>& examples,
                           const std::vector<QuestionAnswer>& answers) {
  return object_by_id(examples, answers,
                      [](const QuestionAnswer& answer) { return OrderedJson(answer.null_odds); });
}

}  // namespace dtl::trainer
