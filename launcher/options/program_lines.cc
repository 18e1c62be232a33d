// One pass over the characters. A word begins with its first character or quote, so "" is an empty
// argument and not nothing.
#include "launcher/options/program_lines.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dtl {
namespace {

class LineReader {
 public:
  LineReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  std::vector<FileLine> read() {
    while (at_ < text_.size()) read_line();
    return std::move(lines_);
  }

 private:
  bool left() const { return at_ < text_.size(); }

  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++number_;
    return c;
  }

  // After a backslash: skips the line end, in any form. Counts lines for messages.
  bool skip_line_end() {
    if (text_.substr(at_).starts_with("\r\n")) ++at_;
    if (!left() || text_[at_] != '\n') return false;
    take();
    return true;
  }

  void read_line() {
    line_ = {number_, {}};
    in_word_ = false;
    while (left()) {
      const char c = take();
      if (c == '\n') break;
      if (c == ' ' || c == '\t' || c == '\r') {
        in_word_ = false;
        // Only at the start of a line. In "a#b" and "a #b" it is part of an argument.
      } else if (c == '#' && line_.words.empty() && !in_word_) {
        // Keeps the line end, which ends the line.
        while (left() && text_[at_] != '\n') ++at_;
      } else if (c == '\\') {
        // A backslash at the end of the file quotes nothing and is kept.
        if (!left()) word() += c;
        if (left() && !skip_line_end()) word() += take();
      } else if (c == '\'' || c == '"') {
        read_quoted(c);
      } else {
        word() += c;
      }
    }
    if (!line_.words.empty()) lines_.push_back(std::move(line_));
  }

  void read_quoted(char quote) {
    // The error names the line of the opening quote; no closing one may follow in the file.
    const int opened = number_;
    std::string& text = word();
    while (left()) {
      char c = take();
      if (c == quote) return;
      const bool escapes = quote == '"' && c == '\\' && left();
      if (escapes && (text_[at_] == '"' || text_[at_] == '\\')) c = take();
      text += c;
    }
    throw file_error(file_place(path_, opened), "",
                     fmt::format("the quote {} is not closed", quote), "-n 1 echo 'two words'");
  }

  // The current word; begins one if there is none.
  std::string& word() {
    if (!in_word_) line_.words.emplace_back();
    in_word_ = true;
    return line_.words.back();
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  int number_ = 1;
  bool in_word_ = false;
  FileLine line_;
  std::vector<FileLine> lines_;
};

}  // namespace

std::vector<FileLine> read_program_lines(std::string_view text, const std::string& path) {
  return LineReader(text, path).read();
}

}  // namespace dtl
