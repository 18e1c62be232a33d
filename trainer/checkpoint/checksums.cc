// Detects damage that a file system does not report, such as bits that changed on disk or in a
// copy. CRC-32C does not protect against attackers, and need not.
#include "trainer/checkpoint/checksums.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "checksums.txt";
// Limit for the list: a checkpoint has about ten files.
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kPieceBytes = 1 << 20;  // read size
constexpr std::string_view kFirstLine = " files, CRC-32C and size of each";

struct Sum {
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;
};

// Throws Error(kOs) with the reason.
Sum sum_of(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) throw system_error(path.string());
  Sum sum;
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(path.string());
    if (n == 0) return sum;
    const auto bytes = static_cast<std::size_t>(n);
    sum.crc = crc32c(std::string_view(piece).substr(0, bytes), sum.crc);
    sum.bytes += bytes;
  }
}

std::string line_of(const Sum& sum, const std::string& name) {
  return fmt::format("{:08x} {} {}", sum.crc, sum.bytes, name);
}

// Compares a file with its line in the list. The list may be damaged: a name with a slash must not
// lead out of the folder.
std::optional<std::string> damage_of(const fs::path& folder, const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() < 3) return fmt::format("{}: '{}' is not a checksum", kName, line);
  const std::string name = line.substr(words[0].size() + words[1].size() + 2);
  if (name.find('/') != std::string::npos) {
    return fmt::format("{}: '{}' is not a file of this folder", kName, name);
  }
  std::error_code unknown;
  if (fs::exists(folder / name, unknown) && !fs::is_regular_file(folder / name, unknown)) {
    return fmt::format("{}: it is not a file", name);  // reading a pipe would block
  }
  Sum sum;
  try {
    sum = sum_of(folder / name);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name, error.reason());
  }
  // Compare as text: this program would not have written the same numbers in another form.
  if (line_of(sum, name) == line) return std::nullopt;
  if (std::to_string(sum.bytes) != words[1]) {
    return fmt::format("{}: it has {} bytes and had {}", name, sum.bytes, words[1]);
  }
  return fmt::format("{}: its checksum is {:08x} and was {}", name, sum.crc, words[0]);
}

}  // namespace

void write_checksums(const std::string& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == kName || !it->is_regular_file()) continue;
    try {
      lines.push_back(line_of(sum_of(it->path()), name));
    } catch (const Error& failed) {
      throw cannot_write(fs::path(folder) / kName, failed);
    }
  }
  if (error) throw cannot_write(fs::path(folder) / kName, Error(Exit::kOs, "", error.message()));
  // Sort by checksum: any order works if it does not depend on the folder's.
  std::sort(lines.begin(), lines.end());
  lines.insert(lines.begin(), fmt::format("{}{}", lines.size(), kFirstLine));
  write_file_atomically(fs::path(folder) / kName, join(lines, "\n") + "\n");
}

bool has_checksums(const std::string& folder) {
  std::error_code unreadable;
  // Treat an unreadable folder as having checksums: find_damage() then reports the reason.
  return fs::exists(fs::path(folder) / kName, unreadable) || unreadable;
}

std::optional<std::string> find_damage(const std::string& folder) {
  const fs::path path = fs::path(folder) / kName;
  if (!has_checksums(folder)) return std::nullopt;
  std::vector<std::string> lines;
  try {
    lines = split(read_regular_file(path, kMaxBytes), '\n');
  } catch (const Error& error) {
    return fmt::format("{}: {}", kName, error.reason());
  }
  // The last element is the empty text after the final newline.
  const bool is_whole = lines.size() >= 2 && lines.back().empty() &&
                        lines.front() == fmt::format("{}{}", lines.size() - 2, kFirstLine);
  if (!is_whole) return fmt::format("{}: it was changed after it was written", kName);
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    if (auto damage = damage_of(folder, lines[i])) return damage;
  }
  return std::nullopt;
}

}  // namespace dtl::trainer
