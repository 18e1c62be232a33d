#pragma once
// What report.html shows of an evaluation: its headline, the labels with their counts, which labels
// were confused, and the examples that the model got most wrong. Pure functions, for rank 0, which
// has the texts. Apart from the result, they need memory only for the pairs of labels that occur.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/page/report_table.h"
#include "trainer/data/metrics.h"
#include "trainer/data/squad_answers.h"
#include "trainer/families/model_config.h"

namespace dtl::trainer {

struct EvaluationView {
  ReportHeadline headline;
  std::vector<ReportTable> tables = {};
  ReportExamples examples = {};
};

struct HeadlineForm {
  std::string_view main = "";         // the figure to show; empty: the first but the loss
  std::string_view unit = "example";  // what is counted
  bool of_100 = false;                // figures are percentages
};
// One line with the main figure of `metrics` (names without a prefix). count: of units.
ReportHeadline evaluation_headline(const MetricList& metrics, std::int64_t count,
                                   const HeadlineForm& form);
// For a run without evaluation: the training loss among the figures of all_results.json.
ReportHeadline training_headline(const MetricList& figures);

// A classifier's labelled examples with logits [N, C].
struct ClassifiedSet {
  const Examples& examples;
  std::span<const float> logits;
  const std::vector<std::string>& texts;  // text_beginning() of each; empty: not shown
  const std::vector<int>& lines;          // in the file; 0 or missing: unknown
  float cut = 0;                          // one of several labels is predicted above this logit
};
// Labels with counts and, for one label per example, the confusion matrix: true labels in rows,
// predicted ones in columns. If there are more labels than fit, the pairs confused most often. For
// several labels, how each was found and missed. For a regression, the range of targets and
// predictions.
std::vector<ReportTable> label_tables(const ModelConfig& config, const Examples& training,
                                      const ClassifiedSet& evaluation);
// The `count` examples with the highest loss.
ReportExamples worst_examples(const ModelConfig& config, const ClassifiedSet& evaluation,
                              std::size_t count);

// Questions whose answer has no word of the expected ones (F1 0), the surest answers first.
ReportExamples wrong_answers(const std::vector<SquadExample>& questions,
                             const std::vector<QuestionAnswer>& answers, bool version_2,
                             std::size_t count);

// At most 200 characters on one line; "…" at the end of a longer text.
std::string text_beginning(std::string_view text);

}  // namespace dtl::trainer
