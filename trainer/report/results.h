#pragma once
// The files that a run leaves beside its model, with the names and keys of Hugging Face's: figures
// (train_results.json, eval_results.json, predict_results.json, all_results.json), the trainer's
// state (trainer_state.json), the settings (training_args.json), predictions, TensorBoard's events;
// and metrics.jsonl, an object per line as they come. Rank 0's business; one thread.
// Writing fails with Error(kCannotWrite or kIo) naming the file.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/settings/run_policy.h"
#include "trainer/settings/settings.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

struct TrainShare {  // what some of a training's steps took and gave
  double mean_loss = 0, seconds = 0;
  std::int64_t steps = 0, examples = 0, tokens = 0;  // examples as often as they were seen
};

struct TrainFigures {
  double epoch = 0;
  std::int64_t examples = 0, steps = 0;  // of the data set; at the end
  double flops = 0;                      // of the whole training, as in total
  TrainShare run;                        // this run's
  std::optional<TrainShare> total = {};  // all, where this run went on with another and it is known
};

struct EvaluationFigures {
  std::string prefix = "eval";  // predict: goes to predict_results.json alone
  std::string suffix;           // "_mm" behind every key: MNLI's mismatched texts
  MetricList metrics;           // without prefix: loss, accuracy, ...
  std::int64_t examples = 0, batches = 0;
  double seconds = 0;
};

class Results {
 public:
  // Writes into `folder`; an empty one: keeps everything in memory. Events go to `event_folder`; an
  // empty one: nowhere.
  explicit Results(std::string folder, const std::string& event_folder = {});
  ~Results();
  Results(Results&&) noexcept;

  // Before anything is logged: what trainer_state.json and training_args.json say of the run.
  // metrics.jsonl begins anew, with the rows that were restored; without do_train, or where `keep`
  // says that the folder has this training's records already, it goes on, and these two files are
  // not touched.
  void start(const Settings& settings, const PolicySettings& policy, bool keep = false);

  // A row of the log; mean_loss since the last one.
  void log_step(const StepReport& step, double mean_loss, double tokens_per_second);
  // epoch is left out by runs that do not train, at step 0. Of prefix and suffix the last
  // figures count for the files.
  void log_evaluation(std::int64_t step, double epoch, const EvaluationFigures& figures);
  void log_training(const TrainFigures& figures);

  // How far the run is, for the state. flops: as in TrainFigures; tokens: of all steps so far.
  void set_position(std::int64_t step, double epoch, double flops, std::int64_t tokens);
  // The best model; `checkpoint`: the folder of memory.best_saved, empty without one.
  void set_best(const RunPolicy::Memory& memory, const std::string& checkpoint);

  // trainer_state.json as it is now, for a checkpoint's folder.
  std::string state_text() const;

  struct Restored {
    std::int64_t step = 0, tokens = 0;
    double epoch = 0, flops = 0;
    RunPolicy::Memory best;
    std::string best_checkpoint;  // as written; may have moved with its run's folder
  };
  // Before start(): takes the log and the best model over from a state_text() or transformers' own
  // trainer_state.json. `metric` tells which model is the best, `place` is for messages. Throws
  // Error(kBadInput).
  Restored restore(const std::string& text, const std::string& metric, const std::string& place);

  // The files of figures, trainer_state.json and training_args.json. all_results.json keeps what
  // earlier runs left there under other keys.
  void write() const;

  // Of the log, the rows that have the key: (step, value), in order; of equal steps the first,
  // since the last evaluation may be of the best model, which is an earlier step's. For reports.
  std::vector<std::pair<std::int64_t, double>> curve(const std::string& key) const;
  // The keys of evaluations in the log, without times and rates: eval_loss, eval_f1, ...
  std::vector<std::string> evaluated_keys() const;
  // All figures of this run as all_results.json has them.
  MetricList figures() const;

  // predict_results_TASK.txt, or predict_results.txt without a task: "index\tprediction" and a line
  // for each; without a task a third column says on which line of the file the example begins.
  // Returns the path.
  std::string write_predictions(const std::string& task,
                                const std::vector<std::string>& predictions,
                                const std::vector<int>& lines);
  // PREFIX_predictions.json, PREFIX_nbest_predictions.json and, unless the text is empty,
  // PREFIX_null_odds.json. Returns the first one's path.
  std::string write_answers(const std::string& prefix, const std::string& predictions,
                            const std::string& nbest, const std::string& null_odds);

 private:
  // Impl keeps nlohmann-json out of this header.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtl::trainer
