#pragma once
// Answers from start and end logits: the n-best search of run_qa (utils_qa.py), and its three
// output files.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/squad_features.h"

namespace dtl::trainer {

struct AnswerSettings {
  int n_best_size = 20;
  int max_answer_length = 30;  // tokens
  bool version_2_with_negative = false;
  double null_score_diff_threshold = 0;
};

struct AnswerCandidate {
  std::string text;
  float start_logit = 0, end_logit = 0;
  double probability = 0;  // among this question's candidates
};

struct QuestionAnswer {
  std::string text;                         // "": no answer (version 2)
  std::vector<AnswerCandidate> candidates;  // best first
  double null_odds = 0;  // version 2: score of no answer minus that of the best answer
};

// One per example. logits: [tokens of the features, 2], from predict().
std::vector<QuestionAnswer> choose_answers(const std::vector<SquadExample>& examples,
                                           const SquadFeatures& features,
                                           std::span<const float> logits,
                                           const AnswerSettings& settings);

// eval_predictions.json, eval_nbest_predictions.json, eval_null_odds.json: indented by 4, escaped
// to ASCII.
std::string predictions_json(const std::vector<SquadExample>& examples,
                             const std::vector<QuestionAnswer>& answers);
std::string nbest_json(const std::vector<SquadExample>& examples,
                       const std::vector<QuestionAnswer>& answers);
std::string null_odds_json(const std::vector<SquadExample>& examples,
                           const std::vector<QuestionAnswer>& answers);

}  // namespace dtl::trainer
