#pragma once
// Whether /bin/sh may run a file that the kernel refuses to execute. A shell would run the bytes of
// a compressed file as commands. For the guard's child, which must not allocate, and for the
// agent's explanation; both must agree.

#include <cstddef>
#include <string_view>

namespace dtl {

constexpr std::size_t kShellTextLook = 64 << 10;  // examined at the beginning of a file
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

namespace shell_text_internal {

// Characters of a text file: white space, escape, and everything from 0x20 up except DEL. Bytes
// above 0x7f are letters in UTF-8 or in an older encoding.
constexpr bool is_in_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool spaces = byte >= '\a' && byte <= '\r';
  return spaces || byte == '\x1b' || (byte >= ' ' && byte != 0x7f);
}

}  // namespace shell_text_internal

// A first line "#!" without a path is a comment.
constexpr bool names_interpreter(std::string_view beginning) {
  if (!beginning.starts_with("#!")) return false;
  const std::string_view line = beginning.substr(2, beginning.substr(2).find('\n'));
  return line.find_first_not_of(" \t") != std::string_view::npos;
}

// beginning: the examined bytes of the file. execvp(3) and shells run every file that execve(2)
// refuses with ENOEXEC as a shell script, even a compressed file or a script in another language.
constexpr bool is_shell_text(std::string_view beginning) {
  if (names_interpreter(beginning) || beginning.starts_with(kByteOrderMark)) return false;
  for (const char c : beginning) {
    if (!shell_text_internal::is_in_text(c)) return false;
  }
  return true;
}

}  // namespace dtl
