// Pieces end where they end, files where they end: a piece may hold the end of one file and the
// beginning of the next.
#include "agent/entrance/arriving_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

Error cannot_write_file(const std::string& path) {
  return system_error(path + ": cannot write", Exit::kCannotWrite);
}

void write_piece(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot_write_file(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void check_arrived(const PromisedFile& file, const std::string& sha256) {
  if (sha256 == file.sha256) return;
  throw Error(Exit::kIo, file.name + ": cannot use", "what arrived is not what was sent");
}

void sync_path(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) throw cannot_write_file(path);
}

ArrivingFiles::ArrivingFiles(std::string folder, std::span<const PromisedFile> files)
    : folder_(std::move(folder)), files_(files) {
  for (const PromisedFile& file : files_) total_ += file.bytes;
}

void ArrivingFiles::add(std::string_view bytes) {
  while (!bytes.empty()) {
    assert(next_ < files_.size());
    const PromisedFile& file = files_[next_];
    const std::string path = folder_ + "/" + file.name;
    if (!file_.valid()) {
      file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
      if (!file_.valid()) throw cannot_write_file(path);
      left_ = file.bytes;
      sum_.emplace();
    }
    const std::string_view part = bytes.substr(0, left_);
    sum_->add(part);
    write_piece(file_.get(), part, path);
    bytes.remove_prefix(part.size());
    have_ += part.size();
    left_ -= part.size();
    if (left_ > 0) continue;
    check_arrived(file, sum_->hex());
    if (::fsync(file_.get()) != 0) throw cannot_write_file(path);
    file_.reset();
    ++next_;
  }
}

void take_pieces(ArrivingFiles& files, const PieceSums& pieces,
                 const std::function<void(std::span<char>)>& read,
                 const std::function<void()>& progress) {
  std::string piece;
  while (files.have() < files.total()) {
    const std::size_t number = files.have() / pieces.bytes;
    piece.resize(std::min(pieces.bytes, files.total() - files.have()));
    read(piece);
    if (number >= pieces.sums.size() || sha256_hex(piece) != pieces.sums[number]) {
      throw Error(Exit::kIo, fmt::format("piece {}: cannot use", number),
                  "what arrived is not what was promised");
    }
    files.add(piece);
    progress();
  }
}

}  // namespace dtl
