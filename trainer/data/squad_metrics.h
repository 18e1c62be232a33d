#pragma once
// The official metrics of SQuAD 1.1 and 2.0, in per cent. Compares answers in lower case, without
// ASCII punctuation and the articles a, an, the, and ignoring the amount of white space.

#include <string>
#include <vector>

#include "trainer/data/metrics.h"
#include "trainer/data/squad.h"

namespace dtl::trainer {

// exact_match, f1: for each example the best over the gold answers; then the mean. answers[i] is
// for examples[i].
MetricList squad_metrics(const std::vector<SquadExample>& examples,
                         const std::vector<std::string>& answers);

// exact, f1, total, HasAns_{exact,f1,total}, NoAns_{exact,f1,total}, best_exact, best_exact_thresh,
// best_f1, best_f1_thresh. no_answer[i]: the score that example i has no answer, for finding the
// best thresholds; empty: 0 for all, as in run_qa.
MetricList squad_v2_metrics(const std::vector<SquadExample>& examples,
                            const std::vector<std::string>& answers,
                            const std::vector<double>& no_answer = {});

// The F1 of one answer, 0 to 1; version_2: by the rules of squad_v2_metrics().
double answer_f1(const SquadExample& example, const std::string& answer, bool version_2);

}  // namespace dtl::trainer
