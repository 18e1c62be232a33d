#include "trainer/settings/settings_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "temporary_folder.h"

namespace dtl::trainer::settings_check_test {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> with(std::vector<std::string> extra,
                              const std::string& train_file = "t.tsv") {
  std::vector<std::string> words = {
      "--model_name_or_path", "m",     "--do_train",   "--train_file", train_file,
      "--validation_file",    "v.tsv", "--output_dir", "out"};
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

// Without the line about with()'s validation file.
std::vector<std::string> notices(const Settings& settings) {
  std::vector<std::string> lines = settings.notices;
  std::erase(lines, "--validation_file has no effect here: it needs --do_eval");
  return lines;
}

std::string complaint(const std::vector<std::string>& extra) {
  try {
    parse_settings(with(extra));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "";
}

std::string task(const std::vector<std::string>& extra, const std::string& file) {
  return parse_settings(with(extra, file)).task;
}

TEST(Task, IsWhatTheOptionsSay) {
  EXPECT_EQ(task({}, "t.tsv"), "classification");
  EXPECT_EQ(task({}, "t.jsonl"), "classification");
  EXPECT_EQ(task({}, "t.json"), "auto");
  EXPECT_EQ(task({"--task_name", "MRPC"}, "t.json"), "classification");
  EXPECT_EQ(task({"--label_column_name", "l"}, "t.json"), "classification");
  EXPECT_EQ(task({"--task_name", "squad"}, "t.csv"), "qa");
  EXPECT_EQ(task({"--doc_stride", "64"}, "t.json"), "qa");
  EXPECT_THAT(complaint({"--doc_stride", "64"}),  // the file is t.tsv
              HasSubstr("--doc_stride: only for question answering, whose files are SQuAD's"));
  EXPECT_THAT(
      [] {
        parse_settings({"--model_name_or_path", "m", "--do_eval", "--validation_file", "v.csv",
                        "--output_dir", "out", "--n_best_size", "5"});
      },
      testing::ThrowsMessage<Error>(HasSubstr("not v.csv. Try: --validation_file FILE.json")));
  EXPECT_EQ(task({"--version_2_with_negative"}, "t.json"), "qa");
  EXPECT_EQ(task({"--task", "qa"}, "t.csv"), "qa");
  EXPECT_EQ(task({}, "t.conll"), "token_classification");
  EXPECT_EQ(task({}, "t.BIO"), "token_classification");
  EXPECT_EQ(task({"--task_name", "pos"}, "t.json"), "token_classification");
  EXPECT_EQ(task({"--label_column_name", "l"}, "t.iob"), "token_classification");
  // The only task that has both.
  EXPECT_EQ(task({"--label_column_name", "l", "--label_all_tokens"}, "t.json"),
            "token_classification");
}

TEST(Task, RefusesOptionsOfOtherTasks) {
  EXPECT_THAT(complaint({"--task", "qa", "--task_name", "ner"}),
              HasSubstr("--task qa: --task_name ner is a token classification task. "
                        "Try: --task token_classification"));
  EXPECT_THAT(complaint({"--task_name", "ner", "--doc_stride", "9"}),
              HasSubstr("--doc_stride: only for question answering"));
  EXPECT_THAT(complaint({"--task_name", "mrpc", "--text_column_name", "tokens"}),
              HasSubstr("--text_column_name: only for token classification"));
  EXPECT_THAT(complaint({"--label_all_tokens=maybe"}), HasSubstr("--label_all_tokens=maybe"));
}

TEST(Task, BringsItsDefaults) {
  EXPECT_EQ(parse_settings(with({})).max_seq_length, 128);
  EXPECT_EQ(parse_settings(with({"--task_name", "ner"})).max_seq_length, 512);
  const Settings qa = parse_settings(with({"--task_name", "squad_v2", "--pad_to_max_length"}));
  EXPECT_EQ(qa.max_seq_length, 384);
  EXPECT_TRUE(qa.version_2_with_negative);
  EXPECT_EQ(qa.qa_loss, "padded");
  EXPECT_EQ(parse_settings(with({"--task", "qa", "--max_seq_length", "64"})).max_seq_length, 64);
}

TEST(Task, IsSeenInTheDataWhereNothingElseTells) {
  const TemporaryFolder folder;
  const auto task_of = [&](const std::string& name, const std::string& bytes) {
    return data_task(parse_settings(with({}, folder.write(name, bytes))));
  };
  EXPECT_EQ(task_of("nested.json", R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [
      {"context": "c", "qas": [{"question": "q", "id": "1"}]}]}]})"),
            "qa");
  EXPECT_EQ(task_of("flat.json", R"({"data":[{"id":"1","context" : "c","question":"q"}]})"), "qa");
  EXPECT_EQ(task_of("rows.json", R"({"sentence": "the \"context\" of a question", "label": 1})"),
            "classification");
  EXPECT_EQ(task_of("qnli.json", R"({"question": "q", "sentence": "s", "label": 1})"),
            "classification");
  EXPECT_EQ(task_of("empty.json", ""), "classification");
}

TEST(Task, IsLookedForInAFileThatExists) {
  const Settings s = parse_settings(with({}, "/nowhere/t.json"));
  try {
    data_task(s);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/t.json: cannot read"));
    EXPECT_EQ(error.status(), Exit::kBadInput);
  }
}

TEST(Task, IsNotWaitedForInAPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("t.json").c_str(), 0600), 0);
  const Settings s = parse_settings(with({}, folder.file("t.json")));
  try {
    data_task(s);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a pipe, not a file"));
  }
}

TEST(Task, RefusesTheOtherTasksOptions) {
  EXPECT_THAT(complaint({"--task", "qa", "--do_regression"}), HasSubstr("--do_regression"));
  EXPECT_THAT(complaint({"--task", "classification", "--n_best_size", "5"}),
              HasSubstr("--n_best_size"));
  EXPECT_THAT(complaint({"--focal_gamma", "2", "--pooling", "cls"}),
              HasSubstr("--pooling: only for embeddings, but --focal_gamma is not. Try: --task "
                        "embeddings without --focal_gamma"));
  EXPECT_THAT(complaint({"--task", "qa", "--task_name", "rte"}), HasSubstr("--task_name rte"));
  EXPECT_THAT(complaint({"--task_name", "mrcp"}), HasSubstr("mrpc"));
  EXPECT_THAT(complaint({"--data_dir", "glue"}), HasSubstr("--task_name"));
  EXPECT_THAT(complaint({"--pad_to_max_length", "--qa_loss", "masked", "--task", "qa"}),
              HasSubstr("conflicts with --pad_to_max_length"));
  EXPECT_THAT(complaint({"--do_regression", "--label_delimiter", ","}), HasSubstr("--label_del"));
  EXPECT_THAT(complaint({"--text_column_delimiter", ""}), HasSubstr("the value is empty"));
  EXPECT_THAT(complaint({"--label_delimiter", "; "}),
              HasSubstr("--label_delimiter ; : not one ASCII"));
  EXPECT_THAT(complaint({"--label_weights", "a=2,b"}), HasSubstr("neither balanced nor"));
  EXPECT_THAT(complaint({"--label_weights", "a=-2"}), HasSubstr("the weight '-2' of 'a'"));
  EXPECT_THAT(complaint({"--label_weights", "a=1,a=2"}), HasSubstr("'a' has two weights"));
  EXPECT_THAT(complaint({"--do_regression", "--label_weights", "a=1"}), HasSubstr("needs labels"));
  EXPECT_THAT(complaint({"--do_regression", "--focal_gamma", "2"}), HasSubstr("needs labels"));
  EXPECT_THAT(complaint({"--focal_gamma", "2", "--label_smoothing_factor", "0.1"}),
              HasSubstr("conflicts with --label_smoothing_factor"));
  EXPECT_THAT(complaint({"--do_regression", "--multi_label_threshold", "0.3"}),
              HasSubstr("several labels"));
  EXPECT_THAT(complaint({"--task_name", "sst2", "--shuffle_train_dataset"}),
              HasSubstr("in the order of their file"));
  EXPECT_THAT(complaint({"--task_name", "stsb", "--label_smoothing_factor", "0.1"}),
              HasSubstr("one label each"));
}

TEST(Settings, NameGluesFolderWhereATaskHasNoFiles) {
  for (const char* what : {"--do_train", "--do_eval", "--do_predict"}) {
    try {
      parse_settings(
          {"--model_name_or_path", "m", "--task_name", "rte", what, "--output_dir", "o"});
      FAIL() << what << " was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.hint(), HasSubstr("--data_dir")) << what;
    }
  }
}

TEST(Settings, ReadGluesFolderInsteadOfFiles) {
  const Settings s =
      parse_settings({"--model_name_or_path", "m", "--task_name", "mnli", "--data_dir", "glue/MNLI",
                      "--do_train", "--do_eval", "--output_dir", "o"});
  EXPECT_EQ(s.task, "classification");
  EXPECT_EQ(s.data_dir, "glue/MNLI");
}

TEST(Settings, EvaluateWhereAStrategySaysWhen) {
  const Settings s = parse_settings(with({"--evaluation_strategy", "epoch"}));
  EXPECT_TRUE(s.do_eval);
  EXPECT_EQ(s.eval_strategy, "epoch");
  EXPECT_DOUBLE_EQ(parse_settings(with({"--eval_strategy", "steps"})).eval_steps, 500);
  EXPECT_DOUBLE_EQ(
      parse_settings(with({"--eval_strategy", "steps", "--logging_steps", "20"})).eval_steps, 20);
  EXPECT_DOUBLE_EQ(parse_settings(with({"--logging_steps", "20"})).eval_steps, 500);
}

TEST(BestModel, IsTheOneWithTheLowestLossUnlessSomethingElseIsSaid) {
  const std::vector<std::string> epochs = {"--load_best_model_at_end", "--eval_strategy", "epoch",
                                           "--save_strategy", "epoch"};
  const auto best = [&](std::vector<std::string> extra) {
    extra.insert(extra.end(), epochs.begin(), epochs.end());
    return parse_settings(with(extra));
  };
  EXPECT_EQ(best({}).metric_for_best_model, "loss");
  EXPECT_FALSE(best({}).greater_is_better);
  EXPECT_EQ(best({"--metric_for_best_model", "eval_accuracy"}).metric_for_best_model, "accuracy");
  EXPECT_TRUE(best({"--metric_for_best_model", "eval_accuracy"}).greater_is_better);
  EXPECT_FALSE(
      best({"--metric_for_best_model", "mse", "--greater_is_better", "False"}).greater_is_better);
  EXPECT_EQ(best({"--task", "qa"}).metric_for_best_model, "f1");
  EXPECT_TRUE(best({"--task", "qa"}).greater_is_better);
}

TEST(BestModel, IsSavedAloneWhereThatIsAskedFor) {
  const Settings s = parse_settings(with({"--save_strategy", "best", "--eval_strategy", "epoch"}));
  EXPECT_EQ(s.metric_for_best_model, "loss");
  EXPECT_NO_THROW(parse_settings(with({"--save_strategy", "best", "--load_best_model_at_end",
                                       "--eval_strategy", "steps", "--eval_steps", "7"})));
  EXPECT_THAT(complaint({"--save_strategy", "best"}),
              HasSubstr("--save_strategy best: needs evaluations"));
}

TEST(Settings, NeedSomethingToEvaluateOnAtTheStart) {
  EXPECT_THAT(complaint({"--eval_on_start"}), HasSubstr("--eval_on_start: needs --do_eval"));
  EXPECT_TRUE(parse_settings(with({"--eval_on_start", "--do_eval"})).eval_on_start);
}

TEST(BestModel, HasToBeEvaluatedAndSaved) {
  const std::string best = "--load_best_model_at_end";
  EXPECT_THAT(complaint({best}), HasSubstr("--eval_strategy is no"));
  EXPECT_THAT(complaint({best, "--eval_strategy", "epoch"}),
              HasSubstr("--save_strategy steps differ"));
  EXPECT_THAT(complaint({best, "--eval_strategy", "steps", "--eval_steps", "300"}),
              HasSubstr("--save_steps 500 is not a multiple of --eval_steps 300"));
  EXPECT_EQ(complaint({best, "--eval_strategy", "steps", "--eval_steps", "250"}), "");
  EXPECT_EQ(
      complaint({best, "--eval_strategy", "steps", "--eval_steps", "0.1", "--save_steps", "0.3"}),
      "");
  EXPECT_THAT(complaint({best, "--eval_strategy", "steps", "--eval_steps", "0.1"}),
              HasSubstr("share"));
  EXPECT_THAT(complaint({"--greater_is_better"}), HasSubstr("needs --metric_for_best_model"));
}

TEST(EarlyStopping, NeedsEvaluations) {
  EXPECT_THAT(complaint({"--early_stopping_patience", "2"}), HasSubstr("--eval_strategy is no"));
  EXPECT_THAT(complaint({"--early_stopping_threshold", "0.1"}),
              HasSubstr("needs --early_stopping_patience"));
  const Settings s =
      parse_settings(with({"--early_stopping_patience", "2", "--eval_strategy", "epoch"}));
  EXPECT_EQ(s.metric_for_best_model, "loss");
}

TEST(Settings, AreReportedToTensorBoardWhenAskedFor) {
  EXPECT_EQ(parse_settings(with({})).report_to, "none");
  EXPECT_EQ(parse_settings(with({"--report_to", "all"})).report_to, "tensorboard");
  EXPECT_EQ(parse_settings(with({"--logging_dir", "l"})).report_to, "tensorboard");
  EXPECT_EQ(parse_settings(with({"--logging_dir", "l", "--report_to", "none"})).report_to, "none");
  const Settings s = parse_settings(with({"--report_to", "tensorboard", "wandb", "--seed", "1"}));
  EXPECT_EQ(s.report_to, "tensorboard");
  EXPECT_THAT(notices(s), ElementsAre(HasSubstr("--report_to wandb has no effect here")));
  EXPECT_THAT(complaint({"--report_to", "wandbb"}), HasSubstr("tensorboard"));
}

TEST(Settings, RefuseWhatWouldMislead) {
  EXPECT_THAT(complaint({"--fp16"}), HasSubstr("--bf16"));
  EXPECT_THAT(complaint({"--push_to_hub"}), HasSubstr("--output_dir"));
  EXPECT_THAT(complaint({"--dataset_name", "squad"}), HasSubstr("--train_file"));
  EXPECT_THAT(notices(parse_settings(with({"--fp16", "False"}))),
              ElementsAre(HasSubstr("--fp16=False has no effect here")));
  EXPECT_THAT(complaint({"--save_steps", "0"}), HasSubstr("--save_strategy no"));
  EXPECT_THAT(complaint({"--save_steps", "2.5"}), HasSubstr("neither a whole number nor a share"));
}

TEST(Settings, SayWhatNeedsAnotherOption) {
  const auto lines = [](std::vector<std::string> words) {
    for (const char* word : {"--model_name_or_path", "m", "--output_dir", "out", "--do_train",
                             "--train_file", "t.tsv"}) {
      words.emplace_back(word);
    }
    return parse_settings(words).notices;
  };
  EXPECT_THAT(lines({"--validation_file", "v.csv"}),
              ElementsAre("--validation_file has no effect here: it needs --do_eval"));
  EXPECT_THAT(lines({"--test_file", "t.csv", "--max_predict_samples", "3"}),
              ElementsAre("--test_file has no effect here: it needs --do_predict",
                          "--max_predict_samples has no effect here: it needs --do_predict"));
  EXPECT_THAT(lines({"--metric_name", "f1"}),
              ElementsAre("--metric_name has no effect here: it needs --do_eval or --do_predict"));
  EXPECT_THAT(lines({"--task", "masked_lm", "--do_eval", "--validation_file", "v.txt",
                     "--validation_split_percentage", "9"}),
              ElementsAre(HasSubstr("it needs --do_eval without --validation_file")));
  EXPECT_THAT(lines({"--validation_file", "v.csv", "--do_eval", "--metric_name", "f1"}), IsEmpty());
  // The demonstration is the same for everybody.
  EXPECT_THAT(parse_settings({"--demo", "--seed", "7", "--learning_rate", "1"}).notices,
              ElementsAre("--learning_rate has no effect here: the demonstration always trains the "
                          "same"));
}

TEST(Settings, HintAtTheHelpThatListsTheOption) {
  EXPECT_THAT(complaint({"--learning_rate", "fast"}), HasSubstr("dttrain --help"));
  EXPECT_THAT(complaint({"--focal_gamma", "much"}), HasSubstr("dttrain --help-all"));
}

TEST(Settings, AnswerWhatHasNoEffectWithALine) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--use_cpu"},
                                             {"--use_cpu=false"},
                                             {"--no-remove-unused-columns"},
                                             {"--label_names", "labels", "others"},
                                             {"--pad_to_max_length=false"},
                                             {"--train_sampling_strategy", "random"}}) {
    EXPECT_THAT(notices(parse_settings(with(words))),
                ElementsAre(HasSubstr("has no effect here: ")))
        << words[0];
  }
  EXPECT_THAT(notices(parse_settings(with({"--token", "secret"}))),
              ElementsAre(Not(HasSubstr("secret"))));
  EXPECT_THAT(complaint({"--no_do_eval"}), HasSubstr("--no_do_eval: unknown option"));
  EXPECT_THAT(complaint({"--train_sampling_strategy", "sequential"}), HasSubstr("--seed"));
}

TEST(Settings, TakeWhatScheduleAndOptimizerTake) {
  const auto schedule = [](const std::string& type, const std::string& json) {
    return complaint({"--lr_scheduler_type", type, "--lr_scheduler_kwargs", json});
  };
  EXPECT_EQ(schedule("cosine_with_restarts", R"({"num_cycles": "3"})"), "");
  EXPECT_EQ(schedule("polynomial", R"({"lr_end": null, "power": 2.0})"), "");
  EXPECT_THAT(schedule("polynomial", R"({"lr_end": 1e-3})"), HasSubstr("not below"));
  EXPECT_THAT(schedule("linear", R"({"num_cycles": 2})"),
              HasSubstr("linear takes none, not 'num_cycles'"));
  EXPECT_THAT(schedule("cosine", "2"), HasSubstr("not a JSON object"));
  EXPECT_THAT(schedule("cosine", R"({"num_cycles": "a"})"),
              HasSubstr("\"a\"}: num_cycles \"a\": "));
  EXPECT_THAT(schedule("cosine_with_min_lr", "{}"), HasSubstr("needs one of min_lr"));
  EXPECT_THAT(schedule("cosine_with_min_lr", R"({"min_lr": 1e-6, "min_lr_rate": 0.1})"),
              HasSubstr("only one"));
  EXPECT_THAT(schedule("warmup_stable_decay", "{}"), HasSubstr("num_decay_steps"));
  EXPECT_THAT(schedule("warmup_stable_decay", R"({"num_decay_steps": 3, "decay_type": "sqrt"})"),
              HasSubstr("decay_type \"sqrt\": not one of"));
  const std::vector<std::string> constant = {"--lr_scheduler_type", "constant",
                                             "--lr_scheduler_kwargs", R"({"num_cycles": 2})"};
  EXPECT_THAT(notices(parse_settings(with(constant))), ElementsAre(HasSubstr("takes none")));
  EXPECT_EQ(complaint({"--optim", "sgd", "--optim_args", "momentum=0.9, nesterov=True"}), "");
  EXPECT_THAT(complaint({"--optim", "sgd", "--optim_args", "nesterov=true"}),
              HasSubstr("momentum"));
  EXPECT_THAT(complaint({"--optim", "sgd", "--optim_args", "speed=1"}), HasSubstr("not 'speed'"));
  EXPECT_THAT(complaint({"--optim", "lion", "--optim_args", "momentum=1"}),
              HasSubstr("takes none"));
}

TEST(Settings, SuggestWhatCanBePasted) {
  EXPECT_THAT(complaint({"--eval_strategy", "epochs"}), HasSubstr("Try: --eval_strategy epoch"));
  EXPECT_THAT(complaint({"--per_gpu_train_batch_size", "4"}),
              HasSubstr("Try: --per_device_train_batch_size 4"));
  EXPECT_THAT(complaint({"--dataset_name", "x"}),
              HasSubstr("Try: --train_file FILE --validation_file FILE"));
  EXPECT_THAT(complaint({"--push_to_hub"}), HasSubstr("Try: --push_to_hub false"));
  EXPECT_THAT(complaint({"--do_train", "false"}),
              AnyOf(HasSubstr("is given. Try: --do_train"), HasSubstr("--do_train false: ")));
  EXPECT_THAT(complaint({"--optim", "sgd", "--optim_args", "momentum=2"}),
              HasSubstr(": momentum=2: "));
}

TEST(Settings, TakeWordsThatMayStandAlone) {
  EXPECT_EQ(parse_settings(with({})).bf16, "false");
  EXPECT_EQ(parse_settings(with({"--bf16"})).bf16, "true");
  EXPECT_EQ(parse_settings(with({"--bf16", "True", "--seed", "1"})).bf16, "true");
  EXPECT_EQ(parse_settings(with({"--bf16=emulate"})).bf16, "emulate");
  EXPECT_EQ(parse_settings(with({"--resume_from_checkpoint", "--seed", "3"})).seed, 3);
  EXPECT_EQ(parse_settings(with({"--resume_from_checkpoint"})).resume_from_checkpoint, "true");
  EXPECT_EQ(parse_settings(with({"--resume_from_checkpoint", ""})).resume_from_checkpoint, "true");
  EXPECT_EQ(
      parse_settings(with({"--resume_from_checkpoint", "o/checkpoint-5"})).resume_from_checkpoint,
      "o/checkpoint-5");
  EXPECT_DOUBLE_EQ(parse_settings(with({"--task", "qa", "--null_score_diff_threshold", "-2.5"}))
                       .null_score_diff_threshold,
                   -2.5);
  EXPECT_EQ(parse_settings(with({"--seed", "1", "--seed", "2"})).seed, 2);
}

TEST(Steps, MayBeAShareOfAll) {
  EXPECT_EQ(resolve_steps(500, 1000), 500);
  EXPECT_EQ(resolve_steps(0.1, 345), 35);
  EXPECT_EQ(resolve_steps(0.001, 10), 1);
  Settings s;
  s.warmup_ratio = 0.1;
  EXPECT_EQ(resolve_warmup(s, 345), 35);
  s.warmup_steps = 0.5;
  EXPECT_EQ(resolve_warmup(s, 345), 173);
  s.warmup_steps = 20;
  EXPECT_EQ(resolve_warmup(s, 345), 20);
  EXPECT_EQ(resolve_warmup(Settings{}, 345), 0);
}

}  // namespace
}  // namespace dtl::trainer::settings_check_test
