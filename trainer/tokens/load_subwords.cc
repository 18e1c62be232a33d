#include "trainer/tokens/load_subwords.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/pieces.h"
#include "trainer/tokens/sentencepiece_files.h"
#include "trainer/tokens/tokenizer_class.h"
#include "trainer/tokens/wordpiece.h"

namespace dtl::trainer {
namespace {

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
