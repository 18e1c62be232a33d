// Recognises other formats by their first bytes, so that the message can suggest a fix. The row
// readers check the rest.
#include "trainer/data/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

using namespace std::string_view_literals;

struct OtherKind {
  std::string_view begins, what, hint;  // {}: the path
};

// UTF-32's byte order mark begins with UTF-16's, so try it first.
constexpr std::array<OtherKind, 7> kOtherKinds = {{
    {"\xFF\xFE\0\0"sv, "in UTF-32", "iconv -f UTF-32 -t UTF-8 {} >NEWFILE"},
    {"\0\0\xFE\xFF"sv, "in UTF-32", "iconv -f UTF-32 -t UTF-8 {} >NEWFILE"},
    {"\xFF\xFE"sv, "in UTF-16", "iconv -f UTF-16 -t UTF-8 {} >NEWFILE"},
    {"\xFE\xFF"sv, "in UTF-16", "iconv -f UTF-16 -t UTF-8 {} >NEWFILE"},
    {"\x1F\x8B"sv, "compressed", "zcat <{} >NEWFILE"},
    {"PK\x03\x04"sv, "a zip archive or a spreadsheet", "soffice --convert-to csv {}"},
    {"PAR1"sv, "in Parquet",
     "python3 -c \"import pandas, sys; "
     "pandas.read_parquet(sys.argv[1]).to_csv('NEW.csv', index=False)\" {}"},
}};

// UTF-16 without a byte order mark: if most text is ASCII, every other byte is NUL.
std::string_view utf16_order(std::string_view bytes) {
  if (bytes.size() < 2 || (bytes[0] == '\0') == (bytes[1] == '\0')) return "";
  return bytes[0] == '\0' ? "UTF-16BE" : "UTF-16LE";
}

[[noreturn]] void refuse_kind(const std::string& path, std::string_view what,
                              const std::string& hint) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot read the data set", path),
              fmt::format("it is {}, not text in UTF-8", what), hint);
}

struct Separator {
  char character;
  std::string_view name, python;  // python: as a string literal of Python
};
constexpr std::array<Separator, 4> kSeparators = {
    {{';', "semicolons", ";"}, {'\t', "tabs", "\\t"}, {'|', "bars", "|"}, {',', "commas", ","}}};

// Short and without blanks, quoted or not. Texts are neither.
bool may_be_name(std::string_view field) {
  field = trim(field);
  if (field.size() > 1 && field.front() == '"' && field.back() == '"') {
    field = field.substr(1, field.size() - 2);
  }
  return !field.empty() && field.size() <= 40 && field.find_first_of(" \"") == field.npos;
}

bool separates_names(std::string_view line, char separator) {
  const auto fields = split(line, separator);
  return fields.size() > 1 && std::all_of(fields.begin(), fields.end(), may_be_name);
}

std::string_view names_line(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  return bytes.substr(0, bytes.find_first_of("\r\n"));
}

}  // namespace

void check_separator(const std::string& path, std::string_view bytes, char separator) {
  const std::string_view line = names_line(bytes);
  if (line.find(separator) != line.npos) return;
  for (const Separator& other : kSeparators) {
    if (other.character == separator || !separates_names(line, other.character)) continue;
    // Python's csv module handles quotes. utf-8-sig: a byte order mark would become part of the
    // first name.
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot read the columns", path),
                fmt::format("the names have {} between them, not {}", other.name,
                            separator == '\t' ? "tabs" : "commas"),
                fmt::format("PYTHONIOENCODING=utf-8-sig python3 -c \"import csv, sys; "
                            "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, "
                            "delimiter='{}'))\" <{} >NEW.csv",
                            other.python, one_shell_word(path)));
  }
}

std::string read_data_file(const std::string& path, std::size_t limit_bytes) {
  std::string bytes = read_regular_file(path, limit_bytes);
  for (const OtherKind& kind : kOtherKinds) {
    if (bytes.starts_with(kind.begins)) {
      refuse_kind(path, kind.what, fmt::format(fmt::runtime(kind.hint), one_shell_word(path)));
    }
  }
  const std::string_view order = utf16_order(bytes);
  if (!order.empty()) {
    refuse_kind(path, "in UTF-16",
                fmt::format("iconv -f {} -t UTF-8 {} >NEWFILE", order, one_shell_word(path)));
  }
  return bytes;
}

std::string utf8_hint(const std::string& path) {
  return fmt::format("iconv -f WINDOWS-1252 -t UTF-8 {} >NEWFILE  # or the encoding that it has",
                     one_shell_word(path));
}

}  // namespace dtl::trainer
