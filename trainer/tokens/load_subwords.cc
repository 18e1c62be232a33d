#include "trainer/tokens/load_subwords.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "trainer/json/json_text.h"
#include "trainer/tokens/library_object.h"
#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/pieces.h"
#include "trainer/tokens/sentencepiece_files.h"
#include "trainer/tokens/tokenizer_class.h"
#include "trainer/tokens/wordpiece.h"

namespace dtl::trainer {
namespace {

using TypeJson = nlohmann::json;

// Reads as far as the type of the model, which usually stands before the vocabulary: that is by far
// the largest part, and is parsed later. Returning false ends the parser.
struct ModelTypeReader final : nlohmann::json_sax<TypeJson> {
  std::string type;
  bool ended = false;  // on purpose: the type is known

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(std::int64_t) override { return value(); }
  bool number_unsigned(std::uint64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool binary(TypeJson::binary_t&) override { return value(); }
  bool string(std::string& text) override {
    if (!within_model_ || depth_ != 2 || key_ != "type") return value();
    type = text;
    ended = true;
    return false;
  }
  bool key(std::string& name) override {
    key_ = name;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 1) within_model_ = key_ == "model";
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    return depth_ > 1;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool value() const { return depth_ > 0; }  // the file must be an object

  int depth_ = 0;
  std::string key_;
  bool within_model_ = false;
};

// The type of the model in a tokenizer.json; empty if it names none. Throws Error(kBadInput) if
// what comes before it is not JSON, or the file is not an object.
std::string model_type_of(const std::string& path) {
  const std::string bytes =
      read_json_text(path, kMaxTokenizerJsonBytes, {"cannot use this tokenizer"});
  ModelTypeReader reader;
  if (!TypeJson::sax_parse(bytes, &reader) && !reader.ended) {
    refuse_json(path, bytes, {"cannot use this tokenizer"});
  }
  return reader.type;
}

bool is_wordpiece(const std::string& folder, TokenizerKind kind) {
  if (kind == TokenizerKind::kBert || kind == TokenizerKind::kMpnet) return true;
  if (kind != TokenizerKind::kWhole) return false;
  // Old files of WordPiece do not name their model.
  const std::string type = model_type_of(folder + "/tokenizer.json");
  return type.empty() || type == "WordPiece";
}

[[noreturn]] void fail_without(const std::string& folder, const char* files) {
  throw Error(
      Exit::kBadInput, fmt::format("{}: cannot load a tokenizer", folder),
      fmt::format("there is neither tokenizer.json nor {}: copy the model's files of the "
                  "tokenizer there, with tokenizer_config.json",
                  files),
      fmt::format("hf download NAME --include 'tok*' 'vocab*' merges.txt '*.model' --local-dir {}",
                  one_shell_word(folder)));
}

}  // namespace

std::unique_ptr<const Subwords> load_subwords(const std::string& folder) {
  TokenizerConfig config = read_tokenizer_config(folder);
  const auto has = [&](const char* name) { return file_exists(folder + "/" + name); };
  const TokenizerClass& named = tokenizer_class_of(folder, config);
  add_usual_tokens(named.kind, config);
  if (is_wordpiece(folder, named.kind)) {
    if (!has("tokenizer.json") && !has("vocab.txt")) fail_without(folder, "vocab.txt");
    return make_wordpiece(read_rules(folder, named.kind, config));
  }
  if (is_sentencepiece(named.kind)) {
    const char* plain = sentencepiece_file(named.kind);
    if (!has("tokenizer.json") && !has(plain)) fail_without(folder, plain);
    return make_pieces(read_piece_rules(folder, named, config));
  }
  const bool plain = has("vocab.json") && has("merges.txt");
  if (!has("tokenizer.json") && !plain) fail_without(folder, "vocab.json and merges.txt");
  return make_pieces(read_piece_rules(folder, named, config));
}

}  // namespace dtl::trainer
