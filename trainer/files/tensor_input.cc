// Reads with pread(2), so several readers can share one file. Checks each range against the file's
// size at opening, so a header cannot cause allocations larger than the file.
#include "trainer/files/tensor_input.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kPieceElements = 1 << 18;  // at most 2 MiB: stays in the caches

std::string reading_tensors(const std::string& path) {
  return fmt::format("{}: cannot read the tensors", path);
}

Fd open_tensors(const std::string& path) {
  try {
    return open_regular_file(path);
  } catch (const Error& error) {
    throw Error(error.status(), reading_tensors(path), error.reason(), error.hint());
  }
}

}  // namespace

TensorInput::TensorInput(const std::string& path) : path_(path), file_(open_tensors(path)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail(errno_text(errno));
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void TensorInput::fail(const std::string& reason) const {
  std::string shown = reason;  // names from the file may contain control bytes
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
  }
  throw Error(Exit::kBadInput, reading_tensors(path_), shown + "; copy or download it again",
              "ls -l " + one_shell_word(path_));
}

void TensorInput::read(std::uint64_t offset, std::uint64_t count, char* bytes) const {
  if (!holds(offset, count)) {
    fail(fmt::format("it has {} bytes and ends before byte {}", size_, offset + count));
  }
  while (count > 0) {
    const ssize_t n = ::pread(file_.get(), bytes, count, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno_text(errno));
    // Another process has truncated the file since we opened it.
    if (n == 0) fail("it has become shorter");
    bytes += n;
    offset += static_cast<std::uint64_t>(n);
    count -= static_cast<std::uint64_t>(n);
  }
}

std::string TensorInput::read(std::uint64_t offset, std::uint64_t count) const {
  if (!holds(offset, count)) {
    fail(fmt::format("it has {} bytes and ends before byte {}", size_, offset + count));
  }
  std::string bytes(count, '\0');
  read(offset, count, bytes.data());
  return bytes;
}

// Reads floats straight into place. Converts other types piece by piece.
void TensorInput::read_floats(ElementType type, std::uint64_t element_bytes, std::uint64_t offset,
                              std::uint64_t count, float* floats) const {
  if (type == ElementType::kF32) {
    return read(offset, count * element_bytes, reinterpret_cast<char*>(floats));
  }
  std::string piece;
  for (std::uint64_t done = 0; done < count; done += kPieceElements) {
    const std::uint64_t take = std::min(kPieceElements, count - done);
    piece.resize(take * element_bytes);
    read(offset + done * element_bytes, piece.size(), piece.data());
    convert_to_floats(type, piece, floats + done);
  }
}

}  // namespace dtl::trainer
