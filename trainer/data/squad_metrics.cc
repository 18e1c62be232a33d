// The official evaluation scripts' normalisation and counts, with Python's Unicode rules. It scores
// texts and knows neither windows nor logits.
#include "trainer/data/squad_metrics.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;

// Unicode's Final_Sigma condition (SpecialCasing.txt): after a cased letter and not before one,
// skipping case-ignorable characters.
bool is_final(std::u32string_view text, std::size_t at) {
  std::size_t before = at, after = at + 1;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return before > 0 && is_cased(text[before - 1]) &&
         (after == text.size() || !is_cased(text[after]));
}

// Python's str.lower.
std::u32string lowered(std::u32string_view text) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kSigma && is_final(text, i)) {
      result.push_back(kFinalSigma);
    } else {
      append_lower(result, text[i]);
    }
  }
  return result;
}

// \w of Python's regular expressions, without '_', which was removed as punctuation. \b is a change
// of this property; it delimits articles.
bool is_regex_word(char32_t c) {
  return is_alphanumeric(c);
}

// The words of a text without ASCII punctuation and articles. Articles match \b(a|an|the)\b, so
// "a\u0301" contains one.
std::vector<std::u32string> words(std::string_view text) {
  // The scripts' order: lower case, punctuation, articles, blanks.
  std::u32string plain = lowered(code_points(text));
  std::erase_if(plain, [](char32_t c) { return c < 0x80 && is_punctuation(c); });
  std::u32string kept;
  for (std::size_t begin = 0, end = 0; begin < plain.size(); begin = end) {
    const bool word = is_regex_word(plain[begin]);
    while (end < plain.size() && is_regex_word(plain[end]) == word) ++end;
    const std::u32string run = plain.substr(begin, end - begin);
    kept += run == U"a" || run == U"an" || run == U"the" ? U" " : run;
  }
  std::vector<std::u32string> found(1);
  for (const char32_t c : kept) {
    if (!is_python_space(c)) {
      found.back().push_back(c);
    } else if (!found.back().empty()) {
      found.emplace_back();
    }
  }
  if (found.back().empty()) found.pop_back();
  return found;
}

struct Scores {
  double exact = 0, f1 = 0;
};

// F1 of two bags of words. If one is empty, the result is 1 if both are, else 0.
double bag_f1(const std::vector<std::u32string>& gold, const std::vector<std::u32string>& answer) {
  if (gold.empty() || answer.empty()) return gold == answer ? 1 : 0;
  std::unordered_map<std::u32string, int> counts;
  for (const std::u32string& word : gold) ++counts[word];
  double common = 0;
  // Each gold word counts once for each time it occurs.
  for (const std::u32string& word : answer) common += counts[word]-- > 0 ? 1 : 0;
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(answer.size());
  const double recall = common / static_cast<double>(gold.size());
  return 2 * precision * recall / (precision + recall);
}

// As in the scripts, each metric uses its own best gold answer.
Scores best_scores(const std::vector<std::string>& golds, std::string_view answer) {
  const std::vector<std::u32string> said = words(answer);
  Scores best;
  for (const std::string& gold : golds) {
    const std::vector<std::u32string> wanted = words(gold);
    best.exact = std::max(best.exact, wanted == said ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, bag_f1(wanted, said));
  }
  return best;
}

std::vector<std::string> gold_texts(const SquadExample& example) {
  std::vector<std::string> texts;
  for (const SquadAnswer& answer : example.answers) texts.push_back(answer.text);
  return texts;
}

// Version 2: ignores gold answers without words. If none is left, the right answer is "".
std::vector<std::string> gold_texts_or_none(const SquadExample& example) {
  std::vector<std::string> texts = gold_texts(example);
  std::erase_if(texts, [](const std::string& text) { return words(text).empty(); });
  if (texts.empty()) texts.emplace_back();
  return texts;
}

double percent(double sum, std::size_t count) {
  return count == 0 ? 0.0 : 100.0 * sum / static_cast<double>(count);
}

// The metrics of the examples for which chosen(i) is true, if there are any.
template <typename Chosen>
void add_figures(const std::string& prefix, const std::vector<Scores>& scores, const Chosen& chosen,
                 MetricList& metrics) {
  double exact = 0, f1 = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!chosen(i)) continue;
    exact += scores[i].exact;
    f1 += scores[i].f1;
    ++count;
  }
  if (count == 0) return;
  metrics.emplace_back(prefix + "exact", percent(exact, count));
  metrics.emplace_back(prefix + "f1", percent(f1, count));
  metrics.emplace_back(prefix + "total", static_cast<double>(count));
}

struct Threshold {
  double score = 0, at = 0;
};

// The best mean score over thresholds of no_answer: examples above the threshold get no answer.
// Starts with no answers and adds them one by one, the surest first.
template <typename Score>
Threshold best_threshold(const std::vector<SquadExample>& examples,
                         const std::vector<std::string>& answers,
                         const std::vector<double>& no_answer, const Score& score) {
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return no_answer[a] < no_answer[b]; });
  double sum = 0;
  for (const SquadExample& example : examples) sum += example.answers.empty() ? 1 : 0;
  // Without any answers, each example without a gold answer is right.
  Threshold best{sum, 0};
  for (const std::size_t i : order) {
    if (!examples[i].answers.empty()) {
      sum += score(i);
    } else {
      // Answering a question that has no answer loses the point for no answer.
      sum -= answers[i].empty() ? 0 : 1;
    }
    if (sum > best.score) best = {sum, no_answer[i]};
  }
  best.score = percent(best.score, examples.size());
  return best;
}

}  // namespace

// Version 1 has no rule for empty sides: they have nothing in common.
double answer_f1(const SquadExample& example, const std::string& answer, bool version_2) {
  if (version_2) return best_scores(gold_texts_or_none(example), answer).f1;
  return words(answer).empty() ? 0.0 : best_scores(gold_texts(example), answer).f1;
}

MetricList squad_metrics(const std::vector<SquadExample>& examples,
                         const std::vector<std::string>& answers) {
  double exact = 0, f1 = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Scores scores = best_scores(gold_texts(examples[i]), answers[i]);
    exact += scores.exact;
    f1 += words(answers[i]).empty() ? 0.0 : scores.f1;
  }
  return {{"exact_match", percent(exact, examples.size())}, {"f1", percent(f1, examples.size())}};
}

MetricList squad_v2_metrics(const std::vector<SquadExample>& examples,
                            const std::vector<std::string>& answers,
                            const std::vector<double>& no_answer) {
  std::vector<Scores> scores;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    scores.push_back(best_scores(gold_texts_or_none(examples[i]), answers[i]));
  }
  const auto has_answer = [&](std::size_t i) { return !examples[i].answers.empty(); };
  MetricList metrics;
  add_figures(
      "", scores, [](std::size_t) { return true; }, metrics);
  add_figures("HasAns_", scores, has_answer, metrics);
  add_figures(
      "NoAns_", scores, [&](std::size_t i) { return !has_answer(i); }, metrics);
  // Without odds, treat each question as surely answerable.
  const std::vector<double> sure =
      no_answer.empty() ? std::vector<double>(examples.size(), 0.0) : no_answer;
  const Threshold exact =
      best_threshold(examples, answers, sure, [&](std::size_t i) { return scores[i].exact; });
  const Threshold f1 =
      best_threshold(examples, answers, sure, [&](std::size_t i) { return scores[i].f1; });
  metrics.emplace_back("best_exact", exact.score);
  metrics.emplace_back("best_exact_thresh", exact.at);
  metrics.emplace_back("best_f1", f1.score);
  metrics.emplace_back("best_f1_thresh", f1.at);
  return metrics;
}

}  // namespace dtl::trainer
