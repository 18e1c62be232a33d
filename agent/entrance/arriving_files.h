#pragma once
// ArrivingFiles: writes the files of a push into a new folder, in order, as their bytes arrive from
// the launcher or another host. Only the promised checksums are trusted. A file is on disk (fsync)
// and checked when its last byte has been added. One thread. Throws Error(kCannotWrite) naming the
// path, Error(kIo) for other bytes than promised.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/sha256.h"

namespace dtl {

struct PromisedFile {
  std::string name;
  std::size_t bytes = 0;  // at least 1
  std::string sha256;     // 64 hexadecimal digits
};

// Throws Error(kIo) unless the digest is the promised one.
void check_arrived(const PromisedFile& file, const std::string& sha256);
// For a folder, this makes its entries durable. Throws Error(kCannotWrite).
void sync_path(const std::string& path);

class ArrivingFiles {
 public:
  // files: must outlive this.
  ArrivingFiles(std::string folder, std::span<const PromisedFile> files);

  std::size_t total() const { return total_; }  // bytes of all files
  std::size_t have() const { return have_; }    // bytes that were added
  void add(std::string_view bytes);             // at most total() - have()

 private:
  std::string folder_;
  std::span<const PromisedFile> files_;
  std::size_t total_ = 0, have_ = 0;
  std::size_t next_ = 0;  // of files_: the one that is being written
  std::size_t left_ = 0;  // bytes of it
  Fd file_;
  std::optional<Sha256> sum_;
};

// The SHA-256 of each piece of all files together, in hexadecimal; only the last piece may be
// shorter than `bytes`.
struct PieceSums {
  std::size_t bytes = 0;
  std::vector<std::string> sums;
};

// Adds what is missing. `read` fills the room that it gets, or throws. Each piece is added only if
// its checksum is right; Error(kIo) otherwise. have() must be a whole number of pieces. `progress`
// is called after each.
void take_pieces(ArrivingFiles& files, const PieceSums& pieces,
                 const std::function<void(std::span<char>)>& read,
                 const std::function<void()>& progress);

}  // namespace dtl
