// Patterns must not have control characters: a label must not move the cursor, and a file name must
// not contain a newline.
#include "launcher/screen/line_label.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

std::string time_text(const char* format, std::time_t now) {
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

LineLabel LineLabel::parse(std::string_view pattern) {
  LineLabel label;
  std::string text;
  const auto end_text = [&] {
    if (!text.empty()) label.pieces_.push_back({Kind::kText, text});
    text.clear();
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (static_cast<unsigned char>(pattern[i]) < ' ') {
      throw option_error("-prepend-pattern", "a control character is not allowed",
                         "-prepend-pattern '[%r] '");
    }
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    // NUL marks a single % at the end; a pattern cannot contain NUL, which is a control character.
    const char letter = i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (letter == '%') {
      text += '%';
      continue;
    }
    const std::string_view letters = "rgpht";
    constexpr Kind kKinds[] = {Kind::kRank, Kind::kProgram, Kind::kPid, Kind::kHost, Kind::kTime};
    const std::size_t at = letter == '\0' ? std::string_view::npos : letters.find(letter);
    if (at == std::string_view::npos) {
      throw option_error(
          "-prepend-pattern " + one_shell_word(std::string(pattern)),
          letter == '\0' ? "it ends with a single %" : fmt::format("unknown letter %{}", letter),
          "%r rank, %g program, %p pid, %h host, %t time, %% a percent sign");
    }
    end_text();
    label.pieces_.push_back({kKinds[at], {}});
  }
  end_text();
  return label;
}

LineLabel LineLabel::open_mpi(bool tag, bool time) {
  LineLabel label;
  if (time) label.pieces_.push_back({Kind::kDate, {}});
  if (tag) {
    // 1 is the job's number, as Open MPI prints it.
    label.pieces_.push_back({Kind::kText, "[1,"});
    label.pieces_.push_back({Kind::kRank, {}});
    label.pieces_.push_back({Kind::kText, "]"});
  }
  label.pieces_.push_back({Kind::kStream, {}});
  label.pieces_.push_back({Kind::kText, ":"});
  return label;
}

std::string LineLabel::text(const LabelFacts& facts, Stream stream, std::time_t now) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Kind::kText:
        text += piece.text;
        break;
      case Kind::kRank:
        text += facts.rank;
        break;
      case Kind::kProgram:
        text += std::to_string(facts.program);
        break;
      case Kind::kPid:
        text += std::to_string(facts.pid);
        break;
      case Kind::kHost:
        text += facts.host;
        break;
      case Kind::kTime:
        text += time_text("%H:%M:%S", now);
        break;
      // In Open MPI's format, that of ctime(3).
      case Kind::kDate:
        text += time_text("%a %b %e %H:%M:%S %Y", now);
        break;
      case Kind::kStream:
        text += stream == Stream::kStdout ? "<stdout>" : "<stderr>";
        break;
    }
  }
  return text;
}

}  // namespace dtl
