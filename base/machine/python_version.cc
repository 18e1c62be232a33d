// Distributions, conda, uv and pyenv all name the actual file python3.11. Only copies lack the
// version in their names; environments with copies have a pyvenv.cfg.
#include "base/machine/python_version.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/machine/find_program.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPython = "python";
constexpr std::size_t kFirstLine = 255;           // of a script, the kernel's limit
constexpr std::size_t kMostConfiguration = 4096;  // of pyvenv.cfg, which has a few lines

std::string file_of(const std::string& program, std::string_view path) {
  if (program.find('/') != program.npos) return program;
  return find_program(program, path).value_or("");
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_python(const std::string& path) {
  const std::string name = base_name(path);
  return name.starts_with(kPython) &&
         name.find_first_not_of("0123456789.", kPython.size()) == name.npos;
}

// "3.11" of "3.11.4" and of "3.11", nothing of "3".
std::string minor_version(std::string_view text) {
  text = text.substr(0, text.find_first_not_of("0123456789."));
  const std::vector<std::string> parts = split(text, '.');
  if (parts.size() < 2 || parts[0].empty() || parts[1].empty()) return {};
  return parts[0] + "." + parts[1];
}

std::string interpreter_line(const std::string& file) {
  try {
    const Fd fd = open_regular_file(file);
    std::string text(kFirstLine, '\0');
    const ssize_t got = ::read(fd.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text.substr(0, text.find('\n'));
  } catch (const Error&) {
    return {};
  }
}

// PREFIX/pyvenv.cfg describes the environment of PREFIX/bin/python. venv writes `version`,
// virtualenv and uv `version_info`.
std::string configured_version(const std::string& file) {
  try {
    const fs::path prefix = fs::path(file).parent_path().parent_path();
    const std::string text =
        read_regular_file((prefix / "pyvenv.cfg").string(), kMostConfiguration);
    for (const std::string& line : split(text, '\n')) {
      const std::size_t equals = line.find('=');
      if (equals == line.npos) continue;
      const std::string_view name = trim(std::string_view(line).substr(0, equals));
      if (name == "version" || name == "version_info") {
        return minor_version(trim(std::string_view(line).substr(equals + 1)));
      }
    }
  } catch (const Error&) {
    // Not an environment.
  }
  return {};
}

}  // namespace

std::string python_of(const std::string& program, std::string_view path) {
  if (is_python(program)) return program;
  const std::string file = file_of(program, path);
  if (file.empty()) return {};
  const std::string line = interpreter_line(file);
  if (!line.starts_with("#!")) return {};
  // Also "/usr/bin/env -S python3 -u".
  std::vector<std::string> words = split(line.substr(2), ' ');
  std::erase_if(words, [](const std::string& word) { return word.empty() || word[0] == '-'; });
  if (words.size() > 1 && base_name(words[0]) == "env") words.erase(words.begin());
  if (words.empty()) return {};
  const std::string interpreter(trim(words[0]));
  return is_python(interpreter) ? interpreter : std::string();
}

std::string python_version(const std::string& python, std::string_view path) {
  const std::string file = file_of(python, path);
  std::error_code failed;
  const std::string real = file.empty() ? "" : fs::canonical(file, failed).string();
  if (real.empty()) return {};
  const std::string name = base_name(real);
  const std::string named =
      name.starts_with(kPython) ? minor_version(name.substr(kPython.size())) : std::string();
  return named.empty() ? configured_version(file) : named;
}

}  // namespace dtl
