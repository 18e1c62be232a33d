// Reads SQuAD files and cuts them into windows. data/squad_answers.h scores the answers.
#include <fmt/format.h>

#include <utility>

#include "trainer/job/load_texts.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {
namespace {

Questioned prepare_set(const Settings& s, const Prepared& prepared, const std::string& file,
                       std::int64_t limit) {
  Questioned set;
  set.questions = read_squad(file, limit);
  set.features = evaluation_features(set.questions, *prepared.tokenizer, prepared.length,
                                     s.doc_stride, default_threads());
  // Move the windows out: only they are broadcast, not the other features.
  set.examples = std::exchange(set.features.windows, {});
  return set;
}

}  // namespace

void prepare_answers(const Settings& s, Prepared& prepared) {
  prepared.config.labels.clear();  // labels of a classifier that was in the folder
  if (s.do_train) {
    const std::vector<SquadExample> questions = read_squad(s.train_file, s.max_train_samples);
    prepared.training_questions = static_cast<std::int64_t>(questions.size());
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

}  // namespace dtl::trainer
