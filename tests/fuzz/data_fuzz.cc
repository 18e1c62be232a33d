// Mutates good tokenizers, data sets, questions and raw text, and checks what their readers
// promise: a value that the next stages can use, or one Error that names the file. A crash, another
// exception, a token outside the vocabulary or an offset outside the text is a failure, shown with
// the text that caused it.
//   data_fuzz [ROUNDS [SEED]]      the same seed gives the same texts

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "tests/fuzz/mutations.h"
#include "trainer/squad_answers.h"
#include "trainer/squad_metrics.h"
#include "trainer/tasks.h"
#include "trainer/unicode.h"

namespace dtl::trainer {
namespace {

// Pieces that mean something to one of the readers.
const std::vector<std::string> kPieces = {"\t",
                                          ",",
                                          "\"",
                                          "\"\"",
                                          "\n",
                                          "\r\n",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ":",
                                          "null",
                                          "true",
                                          "-1",
                                          "0.5",
                                          "1e999",
                                          "99999999999999999999",
                                          "4294967296",
                                          "\\u0000",
                                          "\\ud800",
                                          "\\n",
                                          "\"label\"",
                                          "\"id\":",
                                          "\"text\":[]",
                                          "\"answers\":",
                                          "\"context\":\"\"",
                                          "[CLS]",
                                          "[SEP]",
                                          "##",
                                          "\xef\xbb\xbf",
                                          "\xff",
                                          "\xe4\xb8\xad",
                                          "e\xcc\x81",
                                          "\xc4\xb0",
                                          "\xe2\x80\x8b",
                                          "\xc2\xa0",
                                          "\xed\x95\x9c",
                                          std::string(1, '\0'),
                                          " ",
                                          "a"};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dtl-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(path_ + "/" + name);  // some file systems flush what truncates a file
    Fd file(::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    write_all(file.get(), bytes);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

void require(bool holds, const char* promise) {
  if (!holds) throw std::runtime_error(promise);
}

void check_ids(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  for (const std::int32_t id : ids) {
    require(id >= 0 && id < tokenizer.vocabulary_size(), "a token is not in the vocabulary");
  }
}

// Any bytes: tokens of the vocabulary, at places that go forward within the text.
void check_text(const std::string& text, const Tokenizer& tokenizer) {
  const TokenSpans spans = tokenizer.spans(text);
  check_ids(spans.ids, tokenizer);
  require(spans.ids.size() == spans.offsets.size(), "tokens without a place");
  const auto length = static_cast<std::int32_t>(count_code_points(text));
  std::int32_t before = 0;
  for (const Offset& offset : spans.offsets) {
    require(offset.begin >= before && offset.end <= length,
            "a place outside the text or its order");
    before = offset.begin;
  }
  const Encoding encoding = tokenizer.encode_pair(text, text, 64);
  require(encoding.ids.size() <= 64 && encoding.ids.size() == encoding.types.size(), "too long");
  check_ids(encoding.ids, tokenizer);
  const Encoding alone = tokenizer.encode(text, INT32_MAX);
  require(std::equal(spans.ids.begin(), spans.ids.end(), alone.ids.begin() + 1),
          "other tokens with places than without");
}

void check_examples(const Examples& examples, const Tokenizer& tokenizer) {
  check_ids(examples.ids, tokenizer);
  require(examples.types.size() == examples.ids.size(), "types");
  require(examples.starts.back() == static_cast<std::int64_t>(examples.ids.size()), "starts");
}

void check_dataset(const TextDataset& dataset, const Tokenizer& tokenizer) {
  require(!dataset.examples.empty(), "no examples and no error");
  const std::vector<std::string> labels = label_names(dataset);
  const Examples examples = encode_dataset(dataset, tokenizer, labels, 32, 1);
  check_examples(examples, tokenizer);
  const auto count = static_cast<std::size_t>(examples.size());
  require(count == dataset.examples.size(), "examples were lost");
  const std::size_t targets = dataset.problem == Problem::kSingleLabel ? 0 : count * labels.size();
  require(examples.targets.size() == targets, "targets");
  require(examples.labels.size() == (dataset.problem == Problem::kSingleLabel ? count : 0),
          "labels");
}

void check_questions(const std::vector<SquadExample>& examples, const Tokenizer& tokenizer) {
  require(!examples.empty(), "no questions and no error");
  const SquadFeatures trained = training_features(examples, tokenizer, 256, 16, 1);
  check_examples(trained.windows, tokenizer);
  for (std::size_t w = 0; w < trained.questions.size(); ++w) {
    const std::int64_t length = trained.windows.starts[w + 1] - trained.windows.starts[w];
    const std::int32_t start = trained.windows.answer_starts[w],
                       end = trained.windows.answer_ends[w];
    require(start >= 0 && start <= end && end < length, "an answer outside its window");
  }
  const SquadFeatures features = evaluation_features(examples, tokenizer, 256, 16, 1);
  const std::vector<float> logits(2 * features.offsets.size(), 0.5F);
  AnswerSettings settings;
  settings.version_2_with_negative = true;
  const auto answers = choose_answers(examples, features, logits, settings);
  require(answers.size() == examples.size(), "questions without an answer");
  require(!nbest_json(examples, answers).empty(), "no JSON");
  std::vector<std::string> texts;
  for (const QuestionAnswer& answer : answers) texts.push_back(answer.candidates[0].text);
  squad_metrics(examples, texts);
  squad_v2_metrics(examples, texts);
}

struct Target {
  const char* name;
  std::vector<std::string> seeds;
  std::function<void(const std::string& text)> read;
};

Target dataset_target(const char* name, const Folder& folder, const Tokenizer& tokenizer,
                      const std::string& file, const DatasetOptions& options,
                      std::vector<std::string> seeds) {
  return {name, std::move(seeds), [&folder, &tokenizer, file, options](const std::string& text) {
            check_dataset(read_dataset(folder.write(file, text), options), tokenizer);
          }};
}

Target glue_target(const char* name, const Folder& folder, const Tokenizer& tokenizer,
                   std::vector<std::string> seeds) {
  return {name, std::move(seeds), [&folder, &tokenizer, name](const std::string& text) {
            const std::string path = folder.write("train.tsv", text);
            check_dataset(read_glue(glue_task(name), {path, ""}, Split::kTrain, -1), tokenizer);
          }};
}

std::vector<Target> targets(const Folder& folder, const Tokenizer& tokenizer) {
  tokenizer.save(folder.path());
  const std::string saved = read_file(folder.path() + "/tokenizer.json", 1 << 20);
  const std::string flat =
      R"({"id":"1","context":"é b c","question":"b?","answers":{"text":["b"],"answer_start":[2]}})";
  const std::string nested =
      R"({"data":[{"title":"t","paragraphs":[{"context":"a b 中","qas":[{"id":"1",)"
      R"("question":"a","answers":[{"text":"b 中","answer_start":2}]},{"id":"2",)"
      R"("question":"b","answers":[]}]}]}]})";
  return {
      {"raw text",
       {"a b ab", "\xc3\xa9 \xe4\xb8\xad\xed\x95\x9c e\xcc\x81 \xc4\xb0", "x [SEP] y [CLS]"},
       [&](const std::string& text) { check_text(text, tokenizer); }},
      {"tokenizer.json",
       {saved},
       [&](const std::string& text) {
         folder.write("tokenizer.json", text);
         check_text(
             "a \xc3\xa9"
             "b [SEP] ab\xe4\xb8\xad",
             Tokenizer::load(folder.path()));
       }},
      dataset_target(
          "tsv", folder, tokenizer, "d.tsv", {},
          {"sentence1\tsentence2\tlabel\na\tb\t0\nc \"x\"\td\t1\n", "text\tlabel\na\tb\n"}),
      dataset_target("csv", folder, tokenizer, "d.csv", {},
                     {"label,text\n1,\"a, \"\"b\"\"\"\n0,\"c\nd\"\n"}),
      dataset_target(
          "jsonl", folder, tokenizer, "d.jsonl", {},
          {"{\"text\": \"a\", \"label\": 1}\n{\"label\": \"x\", \"text\": \"\\u00e9\"}\n"}),
      dataset_target("numbers", folder, tokenizer, "d.csv", {.problem = Problem::kRegression},
                     {"text,label\na,0.5\nb,-3\n"}),
      dataset_target(
          "several labels", folder, tokenizer, "d.jsonl", {.problem = Problem::kMultiLabel},
          {"{\"text\": \"a\", \"label\": [\"x\", \"y\"]}\n{\"text\": \"b\", \"label\": []}\n"}),
      glue_target("cola", folder, tokenizer, {"a\t1\t\tx y\na\t0\t*\tz\n"}),
      glue_target("stsb", folder, tokenizer, {"i\tsentence1\tsentence2\tscore\n0\ta\tb\t2.5\n"}),
      {"squad",
       {flat, "[" + flat + "]", "{\"data\": [" + flat + "]}", flat + "\n", nested},
       [&](const std::string& text) {
         check_questions(read_squad(folder.write("d.json", text), -1), tokenizer);
       }},
  };
}

struct Tally {
  std::size_t accepted = 0, refused = 0;
};

// Errors of files name them; those of questions that leave no room name the question.
bool says_where(const Error& error, const Folder& folder) {
  const bool place = error.attempted().find(folder.path() + "/") != std::string::npos ||
                     error.attempted().starts_with("question '");
  return place && !error.reason().empty() && error.status() == Exit::kBadInput;
}

// True when the reader kept its promise for this text.
bool holds(const Target& target, const Folder& folder, const std::string& text, Tally& tally) {
  std::string problem;
  try {
    target.read(text);
    ++tally.accepted;
    return true;
  } catch (const Error& error) {
    if (says_where(error, folder)) {
      ++tally.refused;
      return true;
    }
    problem = fmt::format("the error does not say where: {}", printable(error.what()));
  } catch (const std::exception& error) {
    problem = printable(error.what());
  }
  fmt::print(stderr, "{}: {}\n  for the text: {}\n", target.name, problem, printable(text));
  return false;
}

int run(std::size_t rounds, std::uint64_t seed) {
  Random random(seed);
  const Folder folder;
  const Tokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "##a", "x", "c",
                             "\xe4\xb8\xad", ",", "\""},
                            true);
  bool good = true;
  for (const Target& target : targets(folder, tokenizer)) {
    Tally tally;
    for (const std::string& text : target.seeds) good = holds(target, folder, text, tally) && good;
    for (std::size_t round = 0; round < rounds && good; ++round) {
      good = holds(target, folder, mutated(random, pick(random, target.seeds), kPieces), tally);
    }
    fmt::print("{}: {} accepted, {} refused\n", target.name, tally.accepted, tally.refused);
    // A mutation that is always or never refused would test nothing; raw text is never refused.
    const bool refusable = std::string_view(target.name) != "raw text";
    if (good && rounds >= 1000 && (tally.accepted < 10 || (refusable && tally.refused < 10))) {
      fmt::print(stderr, "{}: the mutations are one-sided\n", target.name);
      good = false;
    }
  }
  if (!good) fmt::print(stderr, "seed {}\n", seed);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return dtl::trainer::run(rounds, seed);
}
