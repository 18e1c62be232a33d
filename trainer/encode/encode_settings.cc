// Rows, and the rules between them.
#include "trainer/encode/encode_settings.h"

#include <string_view>

#include "base/error.h"
#include "base/options/option_table.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

using E = EncodeSettings;

constexpr const char* kHelp = "dttrain encode --help";
constexpr std::int64_t kMostTexts = std::int64_t{1} << 40;

// Remembers that it was given: an empty prompt is one, too.
Target<E> prompt_text() {
  Target<E> target = into::text<&E::prompt>();
  target.set = [set = target.set](E& s, const std::string& value, const Option& option) {
    s.prompt_given = true;
    return set(s, value, option);
  };
  return target;
}

const OptionTable<E>& encode_table() {
  // One row per line is easier to read.
  // clang-format off
  static const OptionTable<E> kTable(std::vector<OptionRow<E>>{
      {"", {"--model_name_or_path"}, "FOLDER", "folder of sentence-transformers, or an encoder",
       into::text<&E::model>()},
      {"", {"--test_file"}, "FILE", "texts: a line each (.txt), or .csv, .tsv, .json, .jsonl",
       into::text<&E::test_file>()},
      {"", {"--output_file"}, "FILE", ".npy (NumPy, float32 [texts, numbers]) or .jsonl",
       into::text<&E::output_file>()},
      {"", {"--text_column_names"}, "NAME", "column of the text (sentence, text, or the first)",
       into::text<&E::text_column_name>()},
      {"", {"--prompt_name"}, "NAME", "a prompt of the folder, put before each text",
       into::text<&E::prompt_name>()},
      {"", {"--prompt"}, "TEXT", "put before each text (the folder's default prompt)",
       prompt_text()},
      {"", {"--per_device_eval_batch_size"}, "N", "texts per rank and batch (32)",
       into::whole<&E::batch>(1, kMostTexts)},
      {"", {"--max_seq_length"}, "N", "most tokens of a text (the folder's)",
       into::whole<&E::max_seq_length>(3, 1 << 20)},
      {"", {"--truncate_dim"}, "N", "keep the first N numbers of an embedding",
       into::whole<&E::truncate_dim>(1, 1 << 24)},
      {"", {"--bf16"}, "true|false|emulate", "multiply matrices in bfloat16 (false)",
       into::word<&E::bf16>(Takes::kPerhapsValue)},
      {"", {"--normalize_embeddings"}, "", "divide embeddings by their length",
       into::flag<&E::normalize>()},
      {"", {"--model_revision"}, "NAME", "branch, tag or commit in the hub's cache (main)",
       into::text<&E::model_revision>()},
      {"", {"--cache_dir"}, "FOLDER", "the hub's cache", into::text<&E::cache_dir>()},
      {"", {"-h", "--help"}, "", "this text", into::flag<&E::help>()},
  });
  // clang-format on
  return kTable;
}

void require(bool good, const std::string& attempted, const std::string& reason,
             const std::string& hint = kHelp) {
  if (!good) throw Error(Exit::kUsage, attempted, reason, hint);
}

}  // namespace

EncodeSettings parse_encode(const std::vector<std::string>& arguments) {
  // As for dttrain's own options: the last value wins, and flags take true or false.
  const Manner manner{
      .help = kHelp, .last_wins = true, .true_or_false = true, .empty_values = true};
  const OptionWords words = read_option_words(encode_table().options(), arguments, manner);
  EncodeSettings s;
  encode_table().apply(words.options, s, kHelp);
  if (s.help) return s;
  require(words.rest.empty(), words.rest.empty() ? "" : words.rest[0], "not an option");
  require(!s.model.empty(), "--model_name_or_path", "missing");
  require(!s.test_file.empty(), "--test_file", "missing", "--test_file FILE");
  require(!s.output_file.empty(), "--output_file", "missing", "--output_file FILE.npy");
  require(s.output_file.ends_with(".npy") || s.output_file.ends_with(".jsonl"),
          "--output_file " + s.output_file, "its name does not end in .npy or .jsonl",
          "--output_file " + one_shell_word(s.output_file + ".npy"));
  require(s.prompt_name.empty() || !s.prompt_given, "--prompt_name " + s.prompt_name,
          "conflicts with --prompt", "--prompt TEXT");
  require(!s.test_file.ends_with(".txt") || s.text_column_name.empty(),
          "--text_column_names " + s.text_column_name, "a .txt file has no columns",
          "--text_column_names ''");
  return s;
}

std::string encode_help() {
  return "usage: dttrain encode --model_name_or_path FOLDER --test_file FILE\n"
         "                      --output_file FILE [options]\n"
         "Writes the embedding of each text, in the order of the file. Under dtlaunch, each\n"
         "rank computes a share.\n\n" +
         options_text(encode_table().options(), {.column = 32});
}

CompletedCommand encode_completion() {
  return {"encode", "write embeddings of texts", completed(encode_table().options())};
}

}  // namespace dtl::trainer
