// The central directory, not the local headers, lists an archive's contents. torch.save stores
// members uncompressed, so we can read them in place; other methods are refused.
#include "trainer/files/stored_zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kEndBytes = 22;  // end of central directory record, without its comment
constexpr std::uint64_t kMaxCommentBytes = 0xFFFF;
// Sizes of the fixed parts of records in APPNOTE.TXT 4.3: zip64 locator, zip64 end, directory
// entry, local header.
constexpr std::uint64_t kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint64_t kMaxDirectoryBytes = 64 << 20;
constexpr std::uint32_t kFull32 = 0xFFFFFFFF;  // "see zip64"

// The caller has checked that the bytes exist. Zip is little-endian, as is this machine (tensor.cc
// asserts it).
template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t begin = 0, bytes = 0;
};

// The end record is the last thing in the file, apart from a comment.
Directory find_directory(const TensorInput& file) {
  if (file.size() < kEndBytes) file.fail("it is too short for a zip archive");
  const std::uint64_t tail_bytes = std::min(file.size(), kEndBytes + kMaxCommentBytes);
  const std::uint64_t tail_begin = file.size() - tail_bytes;
  const std::string tail = file.read(tail_begin, tail_bytes);
  // The last signature that leaves room for the whole record.
  const std::size_t at = tail.rfind("PK\x05\x06", tail.size() - kEndBytes);
  if (at == std::string::npos) file.fail("it is cut short: its zip directory is not there");
  Directory directory{number_at<std::uint32_t>(tail, at + 16),
                      number_at<std::uint32_t>(tail, at + 12)};
  const std::uint64_t end = tail_begin + at;
  // If there is a zip64 locator, it comes right before the end record.
  if (end < kLocatorBytes) return directory;
  const std::string locator = file.read(end - kLocatorBytes, kLocatorBytes);
  if (!locator.starts_with("PK\x06\x07")) return directory;
  const auto end64_at = number_at<std::uint64_t>(locator, 8);
  if (!file.holds(end64_at, kEnd64Bytes)) file.fail("its zip64 directory lies outside of it");
  const std::string end64 = file.read(end64_at, kEnd64Bytes);
  if (!end64.starts_with("PK\x06\x06")) file.fail("its zip64 directory is damaged");
  return {number_at<std::uint64_t>(end64, 48), number_at<std::uint64_t>(end64, 40)};
}

// Replaces sizes and offsets that say "see zip64" with the numbers in the extra field.
bool apply_zip64(std::string_view extra, std::uint64_t& size, std::uint64_t& stored,
                 std::uint64_t& offset) {
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const auto bytes = number_at<std::uint16_t>(extra, 2);
    if (bytes > extra.size() - 4) return false;
    std::string_view field = extra.substr(4, bytes);
    extra.remove_prefix(4U + bytes);
    if (id != 1) continue;
    // The extra field has only the numbers that did not fit, in this order.
    for (std::uint64_t* value : {&size, &stored, &offset}) {
      if (*value != kFull32) continue;
      if (field.size() < 8) return false;
      *value = number_at<std::uint64_t>(field, 0);
      field.remove_prefix(8);
    }
  }
  return true;
}

// Where a member's contents begin: after its local header. That header has its own lengths.
std::uint64_t contents_begin(const TensorInput& file, const std::string& name,
                             std::uint64_t offset) {
  if (!file.holds(offset, kLocalBytes)) {
    file.fail(fmt::format("its member '{}' lies outside of it", name));
  }
  const std::string local = file.read(offset, kLocalBytes);
  if (!local.starts_with("PK\x03\x04")) {
    file.fail(fmt::format("the header of its member '{}' is damaged", name));
  }
  return offset + kLocalBytes + number_at<std::uint16_t>(local, 26) +
         number_at<std::uint16_t>(local, 28);
}

}  // namespace

std::map<std::string, ZipMember> read_zip_members(const TensorInput& file) {
  const Directory place = find_directory(file);
  if (place.bytes > kMaxDirectoryBytes || !file.holds(place.begin, place.bytes)) {
    file.fail("its zip directory lies outside of it");
  }
  const std::string directory = file.read(place.begin, place.bytes);
  std::map<std::string, ZipMember> members;
  std::string_view rest = directory;
  while (!rest.empty()) {
    if (rest.size() < kEntryBytes || !rest.starts_with("PK\x01\x02")) {
      file.fail("its zip directory is damaged");
    }
    const std::size_t name_bytes = number_at<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = number_at<std::uint16_t>(rest, 30);
    const std::size_t all =
        kEntryBytes + name_bytes + extra_bytes + number_at<std::uint16_t>(rest, 32);
    if (all > rest.size()) file.fail("its zip directory is damaged");
    const std::string name(rest.substr(kEntryBytes, name_bytes));
    // Bit 0 of the flags; method 0, below, is "stored".
    const bool encrypted = (number_at<std::uint16_t>(rest, 8) & 1) != 0;
    if (number_at<std::uint16_t>(rest, 10) != 0 || encrypted) {
      file.fail(fmt::format("its member '{}' is compressed or encrypted", name));
    }
    std::uint64_t stored = number_at<std::uint32_t>(rest, 20);
    std::uint64_t size = number_at<std::uint32_t>(rest, 24);
    std::uint64_t offset = number_at<std::uint32_t>(rest, 42);
    if (!apply_zip64(rest.substr(kEntryBytes + name_bytes, extra_bytes), size, stored, offset) ||
        size != stored) {
      file.fail(fmt::format("the sizes of its member '{}' are damaged", name));
    }
    const std::uint64_t begin = contents_begin(file, name, offset);
    if (!file.holds(begin, size)) {
      file.fail(fmt::format("its member '{}' lies outside of it", name));
    }
    if (!members.emplace(name, ZipMember{begin, size}).second) {
      file.fail(fmt::format("its member '{}' is there twice", name));
    }
    rest.remove_prefix(all);
  }
  return members;
}

}  // namespace dtl::trainer
