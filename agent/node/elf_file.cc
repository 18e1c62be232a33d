// Uses pread(2), not mmap(2): another process may truncate a mapped file, and then reading it
// raises SIGBUS.
#include "agent/node/elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {
namespace {

// Real files have up to 15 segments and 100 dynamic entries, and the kernel takes paths of 4 KiB.
constexpr std::size_t kMostSegments = 256;
constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostNames = std::size_t{4} << 20;

// A part of the file.
struct Extent {
  std::uint64_t offset = 0, bytes = 0;
};

// The dynamic section of an open ELF file.
class ElfReader {
 public:
  // false: not such a file, or damaged. Then nothing else may be called.
  bool open(const std::string& path);

  std::optional<std::string> interpreter() const;  // nullopt: damaged; empty: none
  std::optional<std::vector<std::string>> needed() const;
  std::string names() const;

 private:
  bool read_segments();
  bool read_dynamic();
  std::string read(const Extent& extent, std::size_t most_bytes) const;
  template <class Entry>
  std::vector<Entry> read_table(const Extent& extent, std::size_t most) const;
  std::optional<Extent> extent_at(std::uint64_t address, std::uint64_t bytes) const;

  Fd file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<std::uint64_t> needed_;  // offsets in strings_
  Extent strings_;
};

// At most that many bytes; fewer at the end of the file.
std::string ElfReader::read(const Extent& extent, std::size_t most_bytes) const {
  // Offsets beyond off_t would be negative.
  if (extent.offset > INT64_MAX - most_bytes) return {};
  std::string bytes(std::min<std::uint64_t>(extent.bytes, most_bytes), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::pread(file_.get(), bytes.data() + got, bytes.size() - got,
                              static_cast<off_t>(extent.offset + got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

template <class Entry>
std::vector<Entry> ElfReader::read_table(const Extent& extent, std::size_t most) const {
  const std::string bytes = read(extent, most * sizeof(Entry));
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  // Copied, as they may be unaligned in the file.
  if (!entries.empty()) {
    std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  }
  return entries;
}

bool ElfReader::read_segments() {
  const auto headers = read_table<Elf64_Ehdr>({0, sizeof(Elf64_Ehdr)}, 1);
  if (headers.empty()) return false;
  const Elf64_Ehdr& header = headers.front();
  const bool is_ours = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                       header.e_ident[EI_CLASS] == ELFCLASS64 &&
                       header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!is_ours || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  if (header.e_phnum > kMostSegments) return false;
  segments_ =
      read_table<Elf64_Phdr>({header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)}, kMostSegments);
  return segments_.size() == header.e_phnum;
}

// Where the file has the bytes that will be at this address. Cut at the end of the segment.
std::optional<Extent> ElfReader::extent_at(std::uint64_t address, std::uint64_t bytes) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t within = address - segment.p_vaddr;
    if (within >= segment.p_filesz || segment.p_offset > UINT64_MAX - within) continue;
    return Extent{segment.p_offset + within, std::min(bytes, segment.p_filesz - within)};
  }
  return std::nullopt;
}

bool ElfReader::read_dynamic() {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [](const auto& each) { return each.p_type == PT_DYNAMIC; });
  if (found == segments_.end()) return true;  // a static program
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  for (const Elf64_Dyn& entry :
       read_table<Elf64_Dyn>({found->p_offset, found->p_filesz}, kMostEntries)) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) bytes = entry.d_un.d_val;
  }
  const std::optional<Extent> strings = extent_at(address, bytes);
  if (strings) strings_ = *strings;
  return strings.has_value();
}

bool ElfReader::open(const std::string& path) {
  try {
    file_ = open_regular_file(path);
  } catch (const Error&) {
    return false;
  }
  return read_segments() && read_dynamic();
}

std::optional<std::string> ElfReader::interpreter() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_INTERP) continue;
    const std::string text = read({segment.p_offset, segment.p_filesz}, kMostText);
    if (text.find('\0') == text.npos) return std::nullopt;
    return std::string(text.c_str());
  }
  return std::string();
}

std::optional<std::vector<std::string>> ElfReader::needed() const {
  std::vector<std::string> names;
  for (const std::uint64_t at : needed_) {
    if (at >= strings_.bytes || strings_.offset > UINT64_MAX - at) return std::nullopt;
    const std::string text = read({strings_.offset + at, strings_.bytes - at}, kMostText);
    if (text.find('\0') == text.npos) return std::nullopt;
    names.emplace_back(text.c_str());
  }
  return names;
}

std::string ElfReader::names() const {
  return read(strings_, kMostNames);
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
  ElfReader reader;
  if (!reader.open(path)) return std::nullopt;
  std::optional<std::string> interpreter = reader.interpreter();
  std::optional<std::vector<std::string>> needed = reader.needed();
  if (!interpreter || !needed) return std::nullopt;
  return ElfFile{std::move(*interpreter), std::move(*needed)};
}

std::string read_elf_names(const std::string& path) {
  ElfReader reader;
  return reader.open(path) ? reader.names() : std::string();
}

}  // namespace dtl
