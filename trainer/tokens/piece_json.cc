// Reads the steps of a tokenizer.json. Each kind of step has one row in a table; others are refused
// by name. An approximation would feed a model other tokens than in training.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/json/json_scan.h"
#include "trainer/pieces/byte_level.h"
#include "trainer/pieces/normalizers.h"
#include "trainer/pieces/token_ids.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/library_object.h"
#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/unigram_json.h"

namespace dtl::trainer {
namespace {

using PiecesJson = nlohmann::json;
using Step = LibraryObject<PiecesJson>;

constexpr int kDeepestSequence = 8;

template <class Made>
struct StepRow {
  std::string_view type;
  const KnownKeys& keys;
  std::unique_ptr<const Made> (*make)(const Step& json);
};

template <bool compatible, bool composed>
std::unique_ptr<const Normalizer> make_form(const Step&) {
  return std::make_unique<NormalForm>(compatible, composed);
}

template <class Made, class Base>
std::unique_ptr<const Base> make_plain(const Step&) {
  return std::make_unique<Made>();
}

std::unique_ptr<const Normalizer> make_strip(const Step& json) {
  return std::make_unique<Strip>(json.flag("strip_left", true), json.flag("strip_right", true));
}

std::unique_ptr<const Normalizer> make_prepend(const Step& json) {
  return std::make_unique<Prepend>(code_points(json.text("prepend", "")));
}

std::unique_ptr<const Normalizer> make_replace(const Step& json) {
  const PiecesJson& step = json.json();
  if (json.has("pattern") && step["pattern"].is_object() && step["pattern"].contains("Regex")) {
    return read_regex_replace(json);
  }
  const bool good = json.has("pattern") && step["pattern"].is_object() &&
                    step["pattern"].size() == 1 && step["pattern"].contains("String") &&
                    step["pattern"]["String"].is_string() && step["pattern"]["String"] != "";
  if (!good) json.fail("", "its normalizer Replace has no pattern {\"String\": text}");
  return std::make_unique<Replace>(code_points(step["pattern"]["String"].get<std::string>()),
                                   code_points(json.text("content", "")));
}

std::unique_ptr<const PreTokenizer> make_byte_level(const Step& json) {
  return std::make_unique<ByteLevel>(
      ByteLevel::Rules{.add_prefix_space = json.flag("add_prefix_space", true),
                       .use_regex = json.flag("use_regex", true)});
}

const StepRow<Normalizer> kNormalizers[] = {
    {"NFC", keys_of::kTextStep, make_form<false, true>},
    {"NFD", keys_of::kTextStep, make_form<false, false>},
    {"NFKC", keys_of::kTextStep, make_form<true, true>},
    {"NFKD", keys_of::kTextStep, make_form<true, false>},
    {"Lowercase", keys_of::kTextStep, make_plain<Lowercase, Normalizer>},
    {"StripAccents", keys_of::kTextStep, make_plain<StripAccents, Normalizer>},
    {"Strip", keys_of::kTextStep, make_strip},
    {"Replace", keys_of::kTextStep, make_replace},
    {"Prepend", keys_of::kTextStep, make_prepend},
    {"Precompiled", keys_of::kTextStep, read_precompiled<PiecesJson>},
};
const StepRow<PreTokenizer> kPreTokenizers[] = {
    {"ByteLevel", keys_of::kByteLevel, make_byte_level},
    {"Metaspace", keys_of::kMetaspace, read_metaspace<PiecesJson>},
    {"WhitespaceSplit", keys_of::kPreTokenizer, make_plain<WhitespaceSplit, PreTokenizer>},
    {"Punctuation", keys_of::kPunctuation, make_plain<IsolatePunctuation, PreTokenizer>},
};

// Appends the steps of an object, which may be a Sequence with a list at `list`.
template <class Made, std::size_t count>
void read_steps(const Step& json, const char* what, const char* list,
                const StepRow<Made> (&rows)[count], std::vector<std::unique_ptr<const Made>>& steps,
                int depth = 0) {
  const std::string type = json.text("type", "none");
  if (type == "Sequence" && depth < kDeepestSequence) {
    json.check(keys_of::kSequence);
    if (!json.has(list) || !json.json()[list].is_array()) {
      json.fail("", fmt::format("its {} has no list of {}", what, list));
    }
    for (const PiecesJson& item : json.json()[list]) {
      read_steps(json.item(item), what, list, rows, steps, depth + 1);
    }
    return;
  }
  std::vector<std::string> names;
  for (const StepRow<Made>& row : rows) {
    names.emplace_back(row.type);
    if (type != row.type) continue;
    json.check(row.keys);
    steps.push_back(row.make(json));
    return;
  }
  json.fail("", fmt::format("its {} is {}, which is not one of {}, or a Sequence of them", what,
                            type, join(names, ", ")));
}

// A merge is "left right" or, since tokenizers 0.20, ["left", "right"].
std::optional<std::pair<std::string, std::string>> merge_texts(const PiecesJson& item) {
  if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
    return std::pair(item[0].get<std::string>(), item[1].get<std::string>());
  }
  if (!item.is_string()) return std::nullopt;
  const std::string text = item.get<std::string>();
  const std::size_t blank = text.find(' ');
  if (blank == text.npos || text.find(' ', blank + 1) != text.npos) return std::nullopt;
  return std::pair(text.substr(0, blank), text.substr(blank + 1));
}

void read_merges(const Step& json, const TokenIds& ids, PieceRules& rules) {
  const char* key = "merges";
  if (!json.has(key) || !json.json()[key].is_array()) json.fail("", "it has no model.merges");
  rules.merges.reserve(json.json()[key].size());
  for (const PiecesJson& item : json.json()[key]) {
    // Files of vocab.json's time begin with a line "#version: 0.2".
    if (item.is_string() && item.get_ref<const std::string&>().starts_with("#version")) continue;
    const auto texts = merge_texts(item);
    if (!texts) json.fail(key, "a merge is not two texts");
    const BpeMerge merge = {ids.of(texts->first), ids.of(texts->second),
                            ids.of(texts->first + texts->second)};
    if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
      json.fail(key, fmt::format("the merge of '{}' and '{}' is not in the vocabulary",
                                 texts->first, texts->second));
    }
    rules.merges.push_back(merge);
  }
}

// A byte that texts have but the vocabulary lacks: tokenizers would drop its characters.
std::optional<int> missing_byte(const TokenIds& ids, const BpeRules& bpe) {
  if (!bpe.byte_level || bpe.unknown) return std::nullopt;
  for (int byte = 0; byte < 0xF5; ++byte) {
    if (byte == 0xC0 || byte == 0xC1) continue;  // in no UTF-8, nor are those from F5 on
    std::string token;
    append_utf8(token, byte_character(static_cast<unsigned char>(byte)));
    if (ids.of(token) < 0) return byte;
  }
  return std::nullopt;
}

// The settings that only a class which uses the whole file takes from it.
BpeRules read_bpe_settings(const Step& json, const TokenIds& ids) {
  BpeRules bpe;
  json.check(keys_of::kBpe);
  bpe.fuse_unknown = json.flag("fuse_unk", false);
  bpe.byte_fallback = json.flag("byte_fallback", false);
  bpe.ignore_merges = json.flag("ignore_merges", false);
  const std::string unknown = json.text("unk_token", "");
  if (unknown.empty()) return bpe;
  const std::int32_t id = ids.of(unknown);
  if (id < 0) json.fail("unk_token", fmt::format("'{}' is not in the vocabulary", unknown));
  bpe.unknown = id;
  return bpe;
}

void read_bpe(const Step& json, bool whole, PieceRules& rules) {
  read_vocabulary(json, rules.common);
  const TokenIds ids(rules.common.vocabulary);
  read_merges(json, ids, rules);
  BpeRules bpe = whole ? read_bpe_settings(json, ids) : BpeRules();
  bpe.byte_level = rules.byte_level;
  if (const auto missing = missing_byte(ids, bpe)) {
    json.fail("vocab",
              fmt::format("it has no token for the byte 0x{:02X}, and no unk_token", *missing));
  }
  bpe.vocabulary = rules.common.vocabulary;
  bpe.merges = rules.merges;
  rules.model = std::make_unique<Bpe>(bpe);
}

void read_model(const Step& json, bool whole, PieceRules& rules) {
  const std::string type = json.text("type", "none");
  if (type == "BPE") return read_bpe(json, whole, rules);
  if (type != "Unigram") {
    json.fail("type",
              fmt::format("its model is {}, which is not one of WordPiece, BPE and Unigram", type));
  }
  read_scored_pieces(json, rules);
  rules.model = read_whole_unigram(json, rules);
}

// Keeps steps as they are written in the file.
PieceTexts read_texts(std::string_view bytes) {
  PieceTexts texts;
  const std::size_t outer = skip_json_space(bytes, bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  for (const auto& [key, at] : json_members(bytes, outer)) {
    std::string* text = key == "normalizer"       ? &texts.normalizer
                        : key == "pre_tokenizer"  ? &texts.pre_tokenizer
                        : key == "post_processor" ? &texts.post_processor
                        : key == "decoder"        ? &texts.decoder
                        : key == "model"          ? &texts.model
                                                  : nullptr;
    if (text == nullptr || bytes.substr(at).starts_with("null")) continue;
    *text = bytes.substr(at, end_of_json_value(bytes, at) - at);
  }
  return texts;
}

bool is_byte_level(const PreTokenizers& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return dynamic_cast<const ByteLevel*>(step.get()) != nullptr;
  });
}

void read_whole(const Step& whole, const std::string& bytes, PieceRules& rules) {
  if (whole.has("normalizer")) {
    read_steps(whole.object("normalizer"), "normalizer", "normalizers", kNormalizers,
               rules.normalizers);
  }
  if (whole.has("pre_tokenizer")) {
    read_steps(whole.object("pre_tokenizer"), "pre_tokenizer", "pretokenizers", kPreTokenizers,
               rules.pre_tokenizers);
  }
  rules.byte_level = is_byte_level(rules.pre_tokenizers);
  const LibraryFrame frame = read_frame(whole.object("post_processor"));
  rules.common.cls = frame.cls;
  rules.common.sep = frame.sep;
  rules.common.separators = frame.separators;
  rules.common.second_type = frame.second_type;
  rules.common.trims_offsets = frame.trims_offsets;
  rules.common.keeps_blank = frame.prefix;
  rules.texts = read_texts(bytes);
}

// "WhitespaceSplit, Metaspace".
void add_step_types(const Step& json, const char* list, std::string& types) {
  if (json.has(list) && json.json()[list].is_array()) {
    for (const PiecesJson& item : json.json()[list]) {
      add_step_types(json.item(item), list, types);
    }
    return;
  }
  types += (types.empty() ? "" : ", ") + json.text("type", "none");
}

// Classes have steps of their own, whatever the file says.
void tell_not_counted(const std::string& path, const Step& whole, const TokenizerClass& named,
                      const StepTypes& counted) {
  const auto tell = [&](const char* key, const char* list, const std::string& usual) {
    std::string type;
    if (whole.has(key)) add_step_types(whole.object(key), list, type);
    if (type.empty()) type = "null";
    // Without a table, such a class has no normaliser.
    if (type == usual || (type == "null" && usual == "Precompiled")) return;
    log_notice(
        fmt::format("{}: its {} is {}, but {} has {}, which counts, as in transformers, "
                    "unless tokenizer_class is PreTrainedTokenizerFast",
                    path, key, type, named.name, usual));
  };
  tell("normalizer", "normalizers", counted.normalizer);
  tell("pre_tokenizer", "pretokenizers", counted.pre_tokenizer);
}

std::vector<std::string> lines_of_merges(const std::string& path) {
  const std::string bytes = read_regular_file(path, kMaxTokenizerJsonBytes);
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', start), bytes.size());
    std::size_t length = end - start;
    if (length > 0 && bytes[end - 1] == '\r') --length;
    lines.push_back(bytes.substr(start, length));
    start = end + 1;
  }
  return lines;
}

PiecesJson parse_file(const std::string& path, const std::string& bytes) {
  PiecesJson json = PiecesJson::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse_json(path, bytes, {"cannot use this tokenizer"});
  return json;
}

}  // namespace

PieceJson read_piece_json(const std::string& path, const TokenizerClass& named,
                          const StepTypes& usual) {
  const std::string bytes =
      read_json_text(path, kMaxTokenizerJsonBytes, {"cannot use this tokenizer"});
  const PiecesJson json = parse_file(path, bytes);
  const Step whole(path, bytes, json);
  whole.check(keys_of::kTokenizerJson);
  PieceJson result;
  const bool uses_all = named.kind == TokenizerKind::kWhole;
  if (uses_all) {
    read_whole(whole, bytes, result.rules);
  } else {
    result.rules.byte_level = !is_sentencepiece(named.kind);
    tell_not_counted(path, whole, named, usual);
  }
  if (is_sentencepiece(named.kind)) {
    read_class_pieces(whole, named, result.rules);
  } else {
    read_model(whole.object("model"), uses_all, result.rules);
  }
  result.rules.common.added = read_added(whole);
  const LibraryLengths lengths = read_lengths(whole);
  result.truncate_left = lengths.truncate_left;
  if (lengths.pad) result.rules.common.pad = *lengths.pad;
  return result;
}

void read_bpe_files(const std::string& folder, PieceRules& rules) {
  const std::string path = folder + "/vocab.json", merges = folder + "/merges.txt";
  const std::string bytes =
      read_json_text(path, kMaxTokenizerJsonBytes, {"cannot use this tokenizer"});
  const PiecesJson json = parse_file(path, bytes);
  const Step whole(path, bytes, json);
  read_vocabulary(whole, json, rules.common);
  rules.byte_level = true;
  const TokenIds ids(rules.common.vocabulary);
  std::size_t number = 0;
  for (const std::string& line : lines_of_merges(merges)) {
    ++number;
    if (line.starts_with("#version")) continue;
    const std::size_t blank = line.find(' ');
    const std::string left = line.substr(0, blank);
    const std::string right = blank == line.npos ? "" : line.substr(blank + 1);
    const BpeMerge merge = {ids.of(left), ids.of(right), ids.of(left + right)};
    if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
      throw Error(
          Exit::kBadInput, fmt::format("{}:{}: cannot use this tokenizer", merges, number),
          fmt::format("'{}' is not two tokens of vocab.json that together are a third", line));
    }
    rules.merges.push_back(merge);
  }
  BpeRules bpe;
  bpe.byte_level = true;
  if (const auto missing = missing_byte(ids, bpe)) {
    whole.fail("", fmt::format("it has no token for the byte 0x{:02X}", *missing));
  }
  bpe.vocabulary = rules.common.vocabulary;
  bpe.merges = rules.merges;
  rules.model = std::make_unique<Bpe>(bpe);
}

}  // namespace dtl::trainer
