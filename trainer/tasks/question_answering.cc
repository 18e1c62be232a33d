// Extractive question answering: run_qa's task. Reads SQuAD files and cuts them into windows;
// data/squad_answers.h scores the answers.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "trainer/data/squad_answers.h"
#include "trainer/data/squad_features.h"
#include "trainer/data/squad_metrics.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

struct SquadSet : TaskMemo {
  std::vector<SquadExample> questions;
  SquadFeatures features;  // without windows: Questioned::examples has them
};
struct SquadScore : TaskMemo {
  std::vector<QuestionAnswer> answers;  // one per question
};

const SquadSet& squad_of(const Questioned& set) {
  return static_cast<const SquadSet&>(*set.memo);
}
const std::vector<QuestionAnswer>& answers_of(const TaskScore& score) {
  return static_cast<const SquadScore&>(*score.memo).answers;
}

Questioned prepare_set(const Settings& s, const Prepared& prepared, const std::string& file,
                       std::int64_t limit) {
  Questioned set;
  auto squad = std::make_shared<SquadSet>();
  squad->questions = read_squad(file, limit);
  squad->features = evaluation_features(squad->questions, *prepared.tokenizer, prepared.length,
                                        s.doc_stride, default_threads());
  // Move the windows out: only they are broadcast, not the other features.
  set.examples = std::exchange(squad->features.windows, {});
  set.memo = std::move(squad);
  return set;
}

void prepare_answers(const Settings& s, Prepared& prepared) {
  prepared.config.labels.clear();  // labels of a classifier that was in the folder
  if (s.do_train) {
    const std::vector<SquadExample> questions = read_squad(s.train_file, s.max_train_samples);
    if (const MisplacedAnswers misplaced = find_misplaced(questions); misplaced.count > 0) {
      prepared.notices.push_back(fmt::format(
          "{}: {} of {} answers are not at their answer_start: training uses the text that is "
          "there, as run_qa.py does; the first is of {}",
          s.train_file, misplaced.count, questions.size(), misplaced.first));
    }
    SquadFeatures features = training_features(questions, *prepared.tokenizer, prepared.length,
                                               s.doc_stride, default_threads());
    const std::int64_t windows = features.windows.size();
    // run_qa.py applies the limit twice: first to questions, then to their windows.
    if (s.max_train_samples > 0) keep_first_windows(features, s.max_train_samples);
    prepared.train = std::move(features.windows);
    if (prepared.train.size() < windows) {
      prepared.notices.push_back(
          fmt::format("--max_train_samples {}: the questions give {} windows, of which training "
                      "uses the first {}",
                      s.max_train_samples, windows, prepared.train.size()));
    }
  }
  if (s.do_eval) {
    prepared.evaluation.push_back(prepare_set(s, prepared, s.validation_file, s.max_eval_samples));
  }
  if (s.do_predict) {
    prepared.test.push_back(prepare_set(s, prepared, s.test_file, s.max_predict_samples));
  }
}

// No loss: evaluation windows have no answer positions.
MetricList answer_metrics(const Settings& s, const SquadSet& set,
                          const std::vector<QuestionAnswer>& answers) {
  std::vector<std::string> texts;
  for (const QuestionAnswer& answer : answers) texts.push_back(answer.text);
  return s.version_2_with_negative ? squad_v2_metrics(set.questions, texts)
                                   : squad_metrics(set.questions, texts);
}

// The names for SQuAD 2 depend on the questions.
MetricList answer_figures(const Settings& s, const ModelConfig&, const Questioned& set) {
  const SquadSet& squad = squad_of(set);
  return answer_metrics(s, squad, std::vector<QuestionAnswer>(squad.questions.size()));
}

TaskScore score_answers(const ModelOutputs& of) {
  const Settings& s = of.settings;
  const SquadSet& squad = squad_of(of.set);
  // prepare_set() moved the windows out for the broadcast. Put them back for choose_answers().
  SquadFeatures features = squad.features;
  features.windows = of.set.examples;
  auto scored = std::make_shared<SquadScore>();
  scored->answers = choose_answers(
      squad.questions, features, of.outputs,
      {s.n_best_size, s.max_answer_length, s.version_2_with_negative, s.null_score_diff_threshold});
  TaskScore score;
  if (of.labelled) score.metrics = answer_metrics(s, squad, scored->answers);
  score.memo = std::move(scored);
  return score;
}

EvaluationView view_answers(const ModelOutputs& of, const TaskScore& score) {
  const SquadSet& squad = squad_of(of.set);
  EvaluationView view;
  view.headline =
      evaluation_headline(score.metrics, static_cast<std::int64_t>(squad.questions.size()),
                          {.main = "f1", .unit = "question", .of_100 = true});
  view.examples =
      wrong_answers(squad.questions, answers_of(score), of.settings.version_2_with_negative,
                    static_cast<std::size_t>(of.settings.report_examples));
  return view;
}

std::vector<TaskFile> answer_files(const ModelOutputs& of, const TaskScore& score) {
  const SquadSet& squad = squad_of(of.set);
  const std::vector<QuestionAnswer>& answers = answers_of(score);
  const std::string prefix = of.labelled ? "eval" : "predict";
  std::vector<TaskFile> files = {
      {prefix + "_predictions.json", predictions_json(squad.questions, answers)},
      {prefix + "_nbest_predictions.json", nbest_json(squad.questions, answers)}};
  if (of.settings.version_2_with_negative) {
    files.push_back({prefix + "_null_odds.json", null_odds_json(squad.questions, answers)});
  }
  return files;
}

std::string answer_outputs(const ModelConfig&) {
  return "answers";
}

}  // namespace

const TaskKind kQuestionAnswering = {.name = "qa",
                                     .head = Task::kQuestionAnswering,
                                     .prepare = prepare_answers,
                                     .figures = answer_figures,
                                     .score = score_answers,
                                     .view = view_answers,
                                     .files = answer_files,
                                     .outputs = answer_outputs};

}  // namespace dtl::trainer
