#pragma once
// The official figures of SQuAD 1.1 and 2.0, in per cent. Answers are compared in lower case,
// without ASCII punctuation and the articles a, an, the; what blanks there are does not matter.

#include <string>
#include <vector>

#include "trainer/data/metrics.h"
#include "trainer/data/squad.h"

namespace dtl::trainer {

// exact_match, f1: the best over the gold answers, the mean over the examples. answers[i] is for
// examples[i].
MetricList squad_metrics(const std::vector<SquadExample>& examples,
                         const std::vector<std::string>& answers);

// exact, f1, total, HasAns_{exact,f1,total}, NoAns_{exact,f1,total}, best_exact, best_exact_thresh,
// best_f1, best_f1_thresh. no_answer[i]: how sure it is that example i has no answer, over which
// the best thresholds are looked for; empty: 0 for all, as run_qa says.
MetricList squad_v2_metrics(const std::vector<SquadExample>& examples,
                            const std::vector<std::string>& answers,
                            const std::vector<double>& no_answer = {});

}  // namespace dtl::trainer
