// What the trainer makes of questions, for comparisons with other implementations.
//   squad_here features FOLDER FILE MAX STRIDE     the tokenizer of FOLDER, the questions of FILE:
//     prints {"ids": [[..], ..], "questions": [..], "starts": [..], "ends": [..], "offsets": [..]}
//   squad_here answers FOLDER FILE MAX STRIDE LOGITS OUT N_BEST LONGEST VERSION_2 THRESHOLD
//     LOGITS: float32 [tokens, 2]; writes predictions.json, nbest.json and odds.json to OUT, and
//     prints {"v1": {..}, "v2": {..}, "v2_odds": {..}} (the last with thresholds over the odds)
//   squad_here lines     reads JSON lines and prints an answer to each:
//     {"normalize": text}  ->  {"text": ..}
//     {"task", "problem": 0..2 (one label, several, a number), "labels", "targets", "logits",
//      "smoothing", "focal_gamma", "label_weights", "metric_name", "cut"}  ->  {"loss": .., the
//      metrics}

#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "trainer/data/squad_answers.h"
#include "trainer/data/squad_metrics.h"
#include "trainer/model/label_loss.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr int kThreads = 2;

Json metrics_json(const MetricList& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = value;
  return json;
}

Json features_json(const SquadFeatures& trained, const SquadFeatures& evaluated) {
  const Examples& windows = evaluated.windows;
  Json ids = Json::array(), offsets = Json::array();
  for (std::size_t w = 0; w + 1 < windows.starts.size(); ++w) {
    Json window = Json::array(), places = Json::array();
    for (std::int64_t i = windows.starts[w]; i < windows.starts[w + 1]; ++i) {
      const Offset offset = evaluated.offsets[static_cast<std::size_t>(i)];
      window.push_back(windows.ids[static_cast<std::size_t>(i)]);
      places.push_back({offset.begin, offset.end});
    }
    ids.push_back(window);
    offsets.push_back(places);
  }
  return {{"same", windows.ids == trained.windows.ids && evaluated.questions == trained.questions},
          {"ids", ids},
          {"offsets", offsets},
          {"questions", evaluated.questions},
          {"starts", trained.windows.answer_starts},
          {"ends", trained.windows.answer_ends}};
}

void print_features(const Words& words) {
  const Tokenizer tokenizer = Tokenizer::load(words.at(1));
  const auto examples = read_squad(words.at(2), -1);
  const int longest = std::stoi(words.at(3)), stride = std::stoi(words.at(4));
  const Json json =
      features_json(training_features(examples, tokenizer, longest, stride, kThreads),
                    evaluation_features(examples, tokenizer, longest, stride, kThreads));
  std::cout << json.dump() << '\n';
}

void print_answers(const Words& words) {
  const Tokenizer tokenizer = Tokenizer::load(words.at(1));
  const auto examples = read_squad(words.at(2), -1);
  const SquadFeatures features = evaluation_features(examples, tokenizer, std::stoi(words.at(3)),
                                                     std::stoi(words.at(4)), kThreads);
  const std::string bytes = read_file(words.at(5), std::size_t{1} << 30);
  std::vector<float> logits(bytes.size() / sizeof(float));
  std::memcpy(logits.data(), bytes.data(), logits.size() * sizeof(float));
  const AnswerSettings settings{.n_best_size = std::stoi(words.at(7)),
                                .max_answer_length = std::stoi(words.at(8)),
                                .version_2_with_negative = words.at(9) == "1",
                                .null_score_diff_threshold = std::stod(words.at(10))};
  const auto answers = choose_answers(examples, features, logits, settings);
  write_file_atomically(words.at(6) + "/predictions.json", predictions_json(examples, answers));
  write_file_atomically(words.at(6) + "/nbest.json", nbest_json(examples, answers));
  write_file_atomically(words.at(6) + "/odds.json", null_odds_json(examples, answers));
  std::vector<std::string> texts;
  std::vector<double> odds;
  for (const QuestionAnswer& answer : answers) {
    texts.push_back(answer.text);
    odds.push_back(answer.null_odds);
  }
  const Json json = {{"v1", metrics_json(squad_metrics(examples, texts))},
                     {"v2", metrics_json(squad_v2_metrics(examples, texts))},
                     {"v2_odds", metrics_json(squad_v2_metrics(examples, texts, odds))}};
  std::cout << json.dump() << '\n';
}

Json line_answer(const Json& request) {
  if (request.contains("gold")) {
    SquadExample example;
    example.answers.push_back({request["gold"].get<std::string>(), 0});
    return metrics_json(squad_metrics({example}, {request.at("answer").get<std::string>()}));
  }
  Examples examples;
  examples.labels = request.at("labels").get<std::vector<std::int32_t>>();
  examples.targets = request.at("targets").get<std::vector<float>>();
  const auto logits = request.at("logits").get<std::vector<float>>();
  constexpr Problem kProblems[] = {Problem::kSingleLabel, Problem::kMultiLabel,
                                   Problem::kRegression};
  const Problem problem = kProblems[request.at("problem").get<std::size_t>()];
  const double smoothing = request.value("smoothing", 0.0);
  const std::string chosen = request.value("metric_name", std::string());
  // mean_loss() takes the number of examples from the labels or the starts.
  examples.starts.resize(logits.size() / request.at("classes").get<std::size_t>() + 1);
  const LossSettings loss{.label_smoothing = smoothing,
                          .focal_gamma = request.value("focal_gamma", 0.0),
                          .label_weights = request.value("label_weights", std::vector<double>{})};
  Json json = {{"loss", mean_loss(problem, examples, logits, loss)}};
  std::vector<std::string> names;
  for (int i = 0; i < request.at("classes").get<int>(); ++i) names.push_back(std::to_string(i));
  json.update(metrics_json(task_metrics(
      {request.at("task").get_ref<const std::string&>(), chosen, request.value("cut", 0.0F)},
      problem, examples, logits, names)));
  return json;
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  const dtl::trainer::Words words(argv + 1, argv + argc);
  try {
    if (!words.empty() && words[0] == "features") {
      dtl::trainer::print_features(words);
    } else if (!words.empty() && words[0] == "answers") {
      dtl::trainer::print_answers(words);
    } else {
      for (std::string line; std::getline(std::cin, line);) {
        std::cout << dtl::trainer::line_answer(dtl::trainer::Json::parse(line)).dump() << '\n';
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "squad_here: %s\n", error.what());
    return 65;
  }
}
