#pragma once
// Lists what a folder would bring to hosts (--sync, --venv). In a git tree `git ls-files` decides:
// tracked files, and untracked ones that git does not ignore. Otherwise everything below counts.
// Reads the file system and runs git; blocks. Throws Error(kUsage) if there is too much, with the
// largest folders; Error(kBadInput) for what cannot be read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/folders/folder_list.h"

namespace dtl {

struct ListingWish {
  std::string option;  // as in messages: "--sync /home/ann/work"
  std::string folder;  // absolute
  bool uses_git = true;
  bool tells_links = true;       // in notices, those that lead out of the folder
  std::uint64_t most_bytes = 0;  // of all files
  std::size_t most_entries = 0;
  std::vector<std::string> skipped = {};  // paths in the folder, which are left out
};

struct ListedFolder {
  FolderList entries;       // by path
  std::uint64_t bytes = 0;  // of all files
  bool by_git = false;
  std::vector<std::string> notices = {};  // for the user
};

ListedFolder list_folder(const ListingWish& wish);

std::string folder_size_text(std::uint64_t bytes);  // "3.4 MB"

}  // namespace dtl
