// Readers of the trainer's texts: tokenizers, vocabularies, data sets, questions.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "tests/fuzz/reader.h"
#include "tests/trainer/character_table.h"
#include "tests/trainer/sentencepiece_bytes.h"
#include "tests/trainer/token_spans.h"
#include "trainer/data/squad_answers.h"
#include "trainer/data/squad_metrics.h"
#include "trainer/data/tasks.h"
#include "trainer/pieces/base64.h"
#include "trainer/pieces/byte_level.h"
#include "trainer/pieces/unicode.h"

namespace dtl::fuzz {
namespace {

using namespace trainer;

using Strings = std::vector<std::string>;

void check_ids(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  for (const std::int32_t id : ids) {
    require(id >= 0 && id < tokenizer.vocabulary_size(), "a token is not in the vocabulary");
  }
}

// Checks any bytes: ids are in the vocabulary, and offsets are within the text.
void check_text(const std::string& text, const Tokenizer& tokenizer) {
  const TokenSpans spans = token_spans(tokenizer, text);
  check_ids(spans.ids, tokenizer);
  require(spans.ids.size() == spans.offsets.size(), "tokens without a place");
  const auto length = static_cast<std::int32_t>(count_code_points(text));
  for (const Offset& offset : spans.offsets) {
    // A trimmed token may be empty, and begin after the next one, as in the tokenizers library.
    require(offset.begin >= 0 && offset.begin <= offset.end && offset.end <= length,
            "a place outside the text");
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

// Shared by the readers of data: the tokenizer for their texts.
struct Data {
  const Folder& folder;
  Tokenizer tokenizer{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "##a", "x", "c",
                       "\xe4\xb8\xad", ",", "\""},
                      true};
};
using DataPointer = std::shared_ptr<const Data>;  // the readers outlive their maker

// Words that several readers use.
const Strings kTexts = {
    "\xef\xbb\xbf",         "\xe4\xb8\xad", "e\xcc\x81", "\xc4\xb0", "\xe2\x80\x8b", "\xc2\xa0",
    "\xed\x95\x9c",         "[SEP]",        "\r\n",      "\"\"",     "1e999",        "0.5",
    "99999999999999999999", "\\ud800",      "\\u0000",   "null"};

// File errors name the file. If a question leaves no room, the error names the question.
bool names_file_or_question(const Folder& folder, const Error& error) {
  const bool place = error.attempted().find(folder.path() + "/") != std::string::npos ||
                     error.attempted().starts_with("question '");
  return place && !error.reason().empty() && error.status() == Exit::kBadInput;
}

Reader reader(const DataPointer& data, std::string name, Strings seeds,
              std::function<void(const Data&, const std::string&)> read) {
  return {std::move(name), std::move(seeds), kTexts,
          [data, read = std::move(read)](const std::string& bytes) { read(*data, bytes); },
          [data](const Error& error) { return names_file_or_question(data->folder, error); }};
}

Reader dataset_reader(const DataPointer& data, std::string name, const std::string& file,
                      const DatasetOptions& options, Strings seeds) {
  return reader(data, std::move(name), std::move(seeds),
                [file, options](const Data& with, const std::string& bytes) {
                  check_dataset(read_dataset(with.folder.write(file, bytes), options),
                                with.tokenizer);
                });
}

Reader glue_reader(const DataPointer& data, const std::string& task, Strings seeds) {
  return reader(
      data, "glue." + task, std::move(seeds), [task](const Data& with, const std::string& bytes) {
        const std::string path = with.folder.write("train.tsv", bytes);
        check_dataset(read_glue(glue_task(task), {path, ""}, Split::kTrain, -1), with.tokenizer);
      });
}

// A tokenizer's folder, in which one file is the input.
class TokenizerFolder {
 public:
  TokenizerFolder(std::string file, const std::string& others_from, const Strings& others)
      : file_(std::move(file)) {
    for (const std::string& other : others) {
      folder_.write(other, read_file(others_from + "/" + other, 1 << 20));
    }
  }
  void read(const std::string& bytes) const {
    folder_.write(file_, bytes);
    const Tokenizer tokenizer = Tokenizer::load(folder_.path());
    check_text(
        "a \xc3\xa9"
        "b [SEP] ab\xe4\xb8\xad",
        tokenizer);
  }
  const std::string& path() const { return folder_.path(); }

 private:
  Folder folder_;
  std::string file_;
};

Reader tokenizer_reader(const std::string& file, const std::string& from, const Strings& others,
                        Strings seeds, Strings words) {
  const auto place = std::make_shared<const TokenizerFolder>(file, from, others);
  return {file, std::move(seeds), std::move(words),
          [place](const std::string& bytes) { place->read(bytes); }, names(place->path())};
}

Reader named(std::string name, Reader reader) {
  reader.name = std::move(name);
  return reader;
}

std::vector<Reader> tokenizer_readers(const Tokenizer& tokenizer) {
  const Folder saved;
  tokenizer.save(saved.path());
  const std::string& from = saved.path();
  const auto bytes_of = [&](const char* name) { return read_file(saved.file(name), 1 << 20); };
  const std::string old_template =
      R"({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
      R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},)"
      R"("added_tokens":[{"id":6,"content":"<a>","lstrip":true,"rstrip":true,"normalized":true}],)"
      R"("model":{"type":"WordPiece","max_input_chars_per_word":9,"vocab":)"
      R"({"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"##b":5}}})";
  return {
      tokenizer_reader(
          "tokenizer.json", from, {}, {bytes_of("tokenizer.json"), old_template},
          {"16777216", "-1", "1e999", "null", "\"id\":", "single_word", "lstrip", "Sequence",
           "SpecialToken", "continuing_subword_prefix", "\"\"", "\\ud800", "\xe2\x80\x8b"}),
      tokenizer_reader("vocab.txt", from, {"tokenizer_config.json"}, {bytes_of("vocab.txt")},
                       {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "##", "\xe2\x80\x8b", "\xef\xbb\xbf"}),
      tokenizer_reader("tokenizer_config.json", from, {"vocab.txt"},
                       {bytes_of("tokenizer_config.json"),
                        R"({"do_lower_case":false,"pad_token":{"content":"[PAD]"},)"
                        R"("model_max_length":1000000000000000019884624838656})"},
                       {"strip_accents", "tokenize_chinese_chars", "mask_token", "null",
                        "added_tokens_decoder", "extra_special_tokens", "tokenizer_class"}),
      tokenizer_reader("special_tokens_map.json", from, {"vocab.txt"},
                       {bytes_of("special_tokens_map.json"),
                        R"({"additional_special_tokens":["<x>",{"content":"a","lstrip":true}]})"},
                       {"cls_token", "extra_special_tokens", "null", "\"\"", "my_token"}),
      tokenizer_reader("added_tokens.json", from, {"vocab.txt"}, {R"({"a":4,"b":5})"},
                       {"-1", "4294967296", "1e999", "null", "\"\"", "\xc3\xa9"})};
}

// A vocabulary of all bytes with its merges, as RobertaTokenizer has it.
void write_roberta(const Folder& folder) {
  std::string vocabulary = R"({"<s>":0,"<pad>":1,"</s>":2,"<mask>":3)";
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(token, byte_character(static_cast<unsigned char>(byte)));
    if (token == "\"" || token == "\\") token.insert(0, 1, '\\');
    vocabulary += ",\"" + token + "\":" + std::to_string(4 + byte);
  }
  folder.write("vocab.json", vocabulary + R"(,"\u0120a":260,"ab":261})");
  folder.write("merges.txt", "#version: 0.2\n\u0120 a\na b\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer"})");
}

// A chain of steps; <0x41> and similar tokens stand for bytes.
constexpr const char* kSteps =
    R"({"version":"1.0","added_tokens":[{"id":0,"content":"<s>","special":true},)"
    R"({"id":7,"content":" b","lstrip":true,"normalized":true}],)"
    R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},)"
    R"({"type":"StripAccents"},{"type":"Strip","strip_left":true,"strip_right":false},)"
    R"({"type":"Replace","pattern":{"String":"a"},"content":"bb"},)"
    R"({"type":"Prepend","prepend":"_"},{"type":"NFD"},{"type":"NFC"},{"type":"NFKD"}]},)"
    R"("pre_tokenizer":null,"post_processor":{"type":"RobertaProcessing","sep":["</s>",2],)"
    R"("cls":["<s>",0],"trim_offsets":true,"add_prefix_space":true},)"
    R"("decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","fuse_unk":true,)"
    R"("byte_fallback":true,"ignore_merges":true,"vocab":{"<s>":0,"[PAD]":1,"</s>":2,"<unk>":3,)"
    R"("b":4,"bb":5,"<0x61>":6},"merges":[["b","b"]]}})";

// A chain of steps as SentencePiece's vocabularies have it.
std::string unigram_steps() {
  const std::string table = trainer::encode_base64(
      trainer::character_table({{"\xc3\xa9", "ee"}, {"a", ""}, {"e\xcc\x81", "\xc3\xa9"}}));
  return R"({"version":"1.0","added_tokens":[{"id":0,"content":"<s>","special":true}],)"
         R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled",)"
         R"("precompiled_charsmap":")" +
         table +
         R"("},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"\u2581"}]},)"
         R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)"
         R"({"type":"Punctuation","behavior":"Isolated"},{"type":"Metaspace",)"
         R"("replacement":"\u2581","prepend_scheme":"first","split":true}]},)"
         R"("post_processor":{"type":"TemplateProcessing","single":)"
         R"([{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
         R"({"SpecialToken":{"id":"</s>","type_id":0}}],"pair":)"
         R"([{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
         R"({"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
         R"({"SpecialToken":{"id":"</s>","type_id":1}}],"special_tokens":{}},)"
         R"("decoder":{"type":"Metaspace","replacement":"\u2581"},"model":{"type":"Unigram",)"
         R"("unk_id":3,"byte_fallback":true,"vocab":[["<s>",0.0],["[PAD]",0],["</s>",0.0],)"
         R"(["<unk>",0.0],["\u2581",-2.5],["b",-3.25],["\u2581b",-4],["ee",-5],)"
         R"(["<0xE4>",-9],["<0xB8>",-9],["<0xAD>",-9]]}})";
}

// The classes of transformers that take only the vocabulary and the table from a file.
std::vector<Reader> sentencepiece_readers() {
  const Folder xlm, steps, deberta, whole;
  xlm.write("tokenizer_config.json", R"({"tokenizer_class":"XLMRobertaTokenizer"})");
  steps.write("tokenizer_config.json",
              R"({"tokenizer_class":"XLMRobertaTokenizer","pad_token":"[PAD]"})");
  deberta.write("tokenizer_config.json",
                R"({"tokenizer_class":"DebertaV2Tokenizer","do_lower_case":true,)"
                R"("split_by_punct":true,"add_prefix_space":false})");
  whole.write("tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
  const std::string table = trainer::character_table({{"\xc3\xa9", "e"}, {"a", ""}});
  const std::string model = trainer::sentencepiece_bytes(trainer::deberta_pieces(), table, 1, 3);
  const Strings config = {"tokenizer_config.json"};
  const Strings words = {"Metaspace",   "always", "never", "add_prefix_space", "Unigram",
                         "Precompiled", "unk_id", "null",  "-1e308",           "\\s+"};
  return {named("unigram.json",
                tokenizer_reader("tokenizer.json", whole.path(), config, {unigram_steps()}, words)),
          named("xlm-roberta.json",
                tokenizer_reader("tokenizer.json", steps.path(), config, {unigram_steps()}, words)),
          tokenizer_reader("spm.model", deberta.path(), config, {model},
                           {"\x18\x01", "\xc0\x02", "\x15", "\x0a", "[MASK]"}),
          tokenizer_reader("sentencepiece.bpe.model", xlm.path(), config, {model},
                           {"\x18\x01", "\xc0\x02", "\x15", "\x0a", "<mask>"})};
}

std::vector<Reader> piece_readers() {
  const Folder saved;
  write_roberta(saved);
  const std::string& from = saved.path();
  const auto bytes_of = [&](const char* name) { return read_file(saved.file(name), 1 << 20); };
  const Folder whole;
  whole.write("tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
  const Strings config = {"tokenizer_config.json"};
  return {
      named("steps.json",
            tokenizer_reader("tokenizer.json", whole.path(), config, {kSteps},
                             {"ByteLevel", "TemplateProcessing", "BPE", "use_regex", "Regex",
                              "pretokenizers", "processors", "\"\"", "null", "\xc4\xa0"})),
      tokenizer_reader("vocab.json", from, {"merges.txt", "tokenizer_config.json"},
                       {bytes_of("vocab.json")}, {"-1", "16777216", "null", "\"\"", "\xc4\xa0"}),
      tokenizer_reader("merges.txt", from, {"vocab.json", "tokenizer_config.json"},
                       {bytes_of("merges.txt")}, {"#version", "\r\n", " ", "\xc4\xa0"})};
}

std::vector<Reader> dataset_readers(const DataPointer& data) {
  return {
      reader(data, "raw-text",
             {"a b ab", "\xc3\xa9 \xe4\xb8\xad\xed\x95\x9c e\xcc\x81 \xc4\xb0", "x [SEP] y [CLS]"},
             [](const Data& with, const std::string& bytes) { check_text(bytes, with.tokenizer); }),
      dataset_reader(
          data, "tsv", "d.tsv", {},
          {"sentence1\tsentence2\tlabel\na\tb\t0\nc \"x\"\td\t1\n", "text\tlabel\na\tb\n"}),
      dataset_reader(data, "csv", "d.csv", {}, {"label,text\n1,\"a, \"\"b\"\"\"\n0,\"c\nd\"\n"}),
      dataset_reader(
          data, "jsonl", "d.jsonl", {},
          {"{\"text\": \"a\", \"label\": 1}\n{\"label\": \"x\", \"text\": \"\\u00e9\"}\n"}),
      dataset_reader(data, "numbers.csv", "n.csv", {.problem = Problem::kRegression},
                     {"text,label\na,0.5\nb,-3\n"}),
      dataset_reader(
          data, "labels.jsonl", "l.jsonl", {.problem = Problem::kMultiLabel},
          {"{\"text\": \"a\", \"label\": [\"x\", \"y\"]}\n{\"text\": \"b\", \"label\": []}\n"}),
      glue_reader(data, "cola", {"a\t1\t\tx y\na\t0\t*\tz\n"}),
      glue_reader(data, "stsb", {"i\tsentence1\tsentence2\tscore\n0\ta\tb\t2.5\n"})};
}

Reader squad_reader(const DataPointer& data) {
  const std::string flat =
      R"({"id":"1","context":"é b c","question":"b?","answers":{"text":["b"],"answer_start":[2]}})";
  const std::string nested =
      R"({"data":[{"title":"t","paragraphs":[{"context":"a b 中","qas":[{"id":"1",)"
      R"("question":"a","answers":[{"text":"b 中","answer_start":2}]},{"id":"2",)"
      R"("question":"b","answers":[]}]}]}]})";
  return reader(
      data, "squad", {flat, "[" + flat + "]", "{\"data\": [" + flat + "]}", flat + "\n", nested},
      [](const Data& with, const std::string& bytes) {
        check_questions(read_squad(with.folder.write("squad.json", bytes), -1), with.tokenizer);
      });
}

}  // namespace

std::vector<Reader> data_readers(const Folder& folder) {
  const auto data = std::make_shared<const Data>(Data{folder});
  std::vector<Reader> readers = tokenizer_readers(data->tokenizer);
  for (Reader& reader : piece_readers()) readers.push_back(std::move(reader));
  for (Reader& reader : sentencepiece_readers()) readers.push_back(std::move(reader));
  for (Reader& one : dataset_readers(data)) readers.push_back(std::move(one));
  readers.push_back(squad_reader(data));
  return readers;
}

}  // namespace dtl::fuzz
