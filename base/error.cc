// errno decides hints about limits, so that callers need not think of them.
#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

// The nearest existing folder above `path`, where the user can look for the intended name.
std::string folder_to_list(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path folder = fs::path(path).parent_path();
  while (!folder.empty() && !fs::is_directory(folder, ignored)) folder = folder.parent_path();
  return folder.empty() ? "ls" : "ls " + one_shell_word(folder.string());
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// The option that `part` begins with.
const TypedOption* find_typed(std::string_view part, std::span<const TypedOption> options) {
  const std::string_view name = part.substr(0, part.find_first_of(" =,"));
  if (!name.starts_with('-')) return nullptr;
  for (const TypedOption& option : options) {
    if (option.typed.empty()) continue;  // several on the command line
    if (without_dashes(option.name) == without_dashes(name)) return &option;
  }
  return nullptr;
}

}  // namespace

// `where` may include what was attempted.
std::string message_text(std::string_view where, std::string_view why, std::string_view hint) {
  std::string text(where);
  const bool in_lines = why.starts_with('\n');  // a list, with the hint below it
  if (!why.empty()) text += (in_lines ? ":" : ": ") + std::string(why);
  const bool asks = text.ends_with('?');
  if (!hint.empty())
    text += (in_lines ? "\nTry: " : asks ? " Try: " : ". Try: ") + std::string(hint);
  return text;
}

Error::Error(Exit status, std::string attempted, std::string reason, std::string hint)
    : status_(status),
      attempted_(std::move(attempted)),
      reason_(std::move(reason)),
      hint_(std::move(hint)),
      message_(message_text(attempted_, reason_, hint_)) {}

Error Error::with_context(const std::string& context) const {
  Error error(status_, context + ": " + attempted_, reason_, hint_);
  error.number_ = number_;
  return error;
}

Error option_error(std::string typed, std::string why, std::string hint) {
  return Error(Exit::kUsage, std::move(typed), std::move(why), std::move(hint));
}

std::string file_place(std::string_view path, std::size_t line, std::size_t column) {
  std::string place(path);
  if (line > 0) place += ":" + std::to_string(line);
  if (column > 0) place += ":" + std::to_string(column);
  return place;
}

Error file_error(std::string place, std::string what, std::string why, std::string hint) {
  if (!what.empty()) place += (place.empty() ? "" : ": ") + what;
  return Error(Exit::kBadInput, std::move(place), std::move(why), std::move(hint));
}

Error cannot_read(const std::string& path) {
  const int number = errno;
  const bool missing = number == ENOENT || number == ENOTDIR;
  Error error = cannot_read(path, errno_text(number),
                            missing ? folder_to_list(path) : "ls -ld " + one_shell_word(path));
  error.number_ = number;
  return error;
}

Error cannot_read(const std::string& path, std::string why, std::string hint) {
  return file_error(printable(path), "cannot read", std::move(why), std::move(hint));
}

Error as_typed(const Error& error, std::span<const TypedOption> options) {
  std::string attempted;
  bool changed = false;
  for (std::string_view rest = error.attempted_; !rest.empty();) {
    const std::size_t end = std::min(rest.find(": "), rest.size());
    const TypedOption* option = find_typed(rest.substr(0, end), options);
    changed |= option != nullptr;
    if (!attempted.empty()) attempted += ": ";
    attempted += option != nullptr ? std::string_view(option->typed) : rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  if (!changed) return error;
  Error typed(error.status_, attempted, error.reason_, error.hint_);
  typed.number_ = error.number_;
  return typed;
}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

std::string limit_command(int error_number) {
  if (error_number == EMFILE) return "ulimit -Hn";
  if (error_number == EFBIG) return "ulimit -f";
  if (error_number == ENFILE) return "cat /proc/sys/fs/file-nr";
  if (error_number == EAGAIN) return "ulimit -u; ps -eLf | wc -l";
  if (error_number == ENOMEM) return "free -m; ulimit -v";
  return {};
}

Error system_error(const std::string& attempted, Exit status) {
  // Saved before another call changes it.
  const int number = errno;
  // EAGAIN is about a limit only after fork(2).
  Error error(status, attempted, errno_text(number), number == EAGAIN ? "" : limit_command(number));
  error.number_ = number;
  return error;
}

}  // namespace dtl
