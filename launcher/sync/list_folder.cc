// Folders of a git tree that git lists as one entry are submodules and clones in the tree: git is
// asked again in each of them.
#include "launcher/sync/list_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/machine/find_program.h"
#include "base/text.h"
#include "launcher/streams/command_output.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kGitPatience{60};  // 500,000 files on a slow disk
constexpr std::size_t kGitBytes = 256 << 20;      // of names
constexpr std::size_t kLookedAt = 1'000'000;      // entries; --sync / must end, too
constexpr std::size_t kNamed = 3;                 // in a message
constexpr std::int64_t kNanoseconds = 1'000'000'000;

bool exists_here(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Also for a submodule and a worktree, where .git is a file.
bool is_in_git_tree(const std::string& folder) {
  std::error_code failed;
  for (fs::path at = fs::canonical(folder, failed);; at = at.parent_path()) {
    if (exists_here(at / ".git")) return true;
    if (at == at.parent_path()) return false;
  }
}

std::string find_git(const std::string& option) {
  const char* path = std::getenv("PATH");
  const auto git = find_program("git", path != nullptr ? path : "/usr/bin:/bin");
  if (git) return *git;
  throw option_error(option,
                     "it is in a git tree, and git, which lists its files, is not installed here",
                     "apt-get install git");
}

class Listing {
 public:
  explicit Listing(const ListingWish& wish) : wish_(wish) {}

  ListedFolder run() {
    if (wish_.uses_git && is_in_git_tree(wish_.folder)) {
      list_by_git("");
      listed_.by_git = true;
    }
    // All of it is ignored if the folder is itself ignored, by a git tree around it.
    if (listed_.entries.empty()) {
      listed_.by_git = false;
      walk("");
    }
    std::vector<FolderEntry>& entries = listed_.entries;
    std::sort(entries.begin(), entries.end(),
              [](const FolderEntry& a, const FolderEntry& b) { return a.path < b.path; });
    // git lists a file with a conflict several times.
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    listed_.bytes = 0;
    for (const FolderEntry& entry : entries) listed_.bytes += entry.bytes;
    check_size();
    add_notices();
    return std::move(listed_);
  }

 private:
  std::string place(const std::string& path) const {
    return path.empty() ? wish_.folder : wish_.folder + "/" + path;
  }

  void list_by_git(const std::string& below) {
    CommandToRead git;
    git.arguments = {
        find_git(wish_.option), "-C", place(below), "ls-files", "-z", "--cached", "--others",
        "--exclude-standard"};
    git.name = "git ls-files";
    git.hint = fmt::format("git -C {} status", one_shell_word(place(below)));
    git.patience = kGitPatience;
    git.most_bytes = kGitBytes;
    for (std::string& name : split(read_command(git), '\0')) {
      while (name.ends_with('/')) name.pop_back();
      if (!name.empty()) add(below.empty() ? name : below + "/" + name, true);
    }
  }

  void walk(const std::string& below) {
    std::error_code failed;
    fs::directory_iterator at(place(below), failed);
    bool is_empty = true;
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
      is_empty = false;
      const std::string name = at->path().filename();
      add(below.empty() ? name : below + "/" + name, false);
    }
    if (failed) throw cannot_read(place(below), failed.message());
    if (is_empty && !below.empty()) add_empty(below);
  }

  void add(const std::string& path, bool by_git) {
    if (!is_inner_path(path)) return;  // our own
    if (std::find(wish_.skipped.begin(), wish_.skipped.end(), path) != wish_.skipped.end()) return;
    if (++looked_at_ > kLookedAt) check_size();
    const std::string where = place(path);
    struct stat status {};
    if (::lstat(where.c_str(), &status) != 0) {
      if (errno == ENOENT) return;  // removed, and still in git's index
      throw cannot_read(where);
    }
    switch (status.st_mode & S_IFMT) {
      case S_IFREG:
        return add_file(path, status);
      case S_IFLNK:
        return add_link(path);
      case S_IFDIR:
        return add_folder(path, by_git);
      default:
        others_.push_back(path);  // sockets, pipes and devices
    }
  }

  void add_file(const std::string& path, const struct stat& status) {
    if (::access(place(path).c_str(), R_OK) != 0) throw cannot_read(place(path));
    const std::int64_t modified =
        std::int64_t{status.st_mtim.tv_sec} * kNanoseconds + status.st_mtim.tv_nsec;
    listed_.entries.push_back({EntryKind::kFile, path, status.st_mode & 0777,
                               static_cast<std::uint64_t>(status.st_size),
                               std::max<std::int64_t>(modified, 0)});
    listed_.bytes += static_cast<std::uint64_t>(status.st_size);
  }

  void add_link(const std::string& path) {
    std::error_code failed;
    FolderEntry link{EntryKind::kLink, path};
    link.target = fs::read_symlink(place(path), failed);
    if (failed) throw cannot_read(place(path), failed.message());
    if (leads_out(link)) leading_out_.push_back(path + " -> " + link.target);
    listed_.entries.push_back(std::move(link));
  }

  void add_folder(const std::string& path, bool by_git) {
    if (!by_git) return walk(path);
    if (exists_here(place(path) + "/.git")) return list_by_git(path);
    add_empty(path);  // a submodule that has not been fetched
  }

  void add_empty(const std::string& path) {
    listed_.entries.push_back({EntryKind::kEmptyFolder, path});
  }

  void check_size() const {
    const std::size_t count = listed_.entries.size();
    const bool looked_enough = looked_at_ > kLookedAt;
    if (!looked_enough && listed_.bytes <= wish_.most_bytes && count <= wish_.most_entries) return;
    throw option_error(
        wish_.option,
        fmt::format("{}{} in {}, more than {} in {}; the largest: {}", looked_enough ? "over " : "",
                    folder_size_text(listed_.bytes),
                    plural(static_cast<std::int64_t>(count), "file"),
                    folder_size_text(wish_.most_bytes),
                    plural(static_cast<std::int64_t>(wish_.most_entries), "file"), largest()),
        listed_.by_git ? fmt::format("git -C {} status --short", one_shell_word(wish_.folder))
                       : fmt::format("{} FOLDER with less in it",
                                     wish_.option.substr(0, wish_.option.find(' '))));
  }

  // Of the folder's own entries.
  std::string largest() const {
    struct Share {
      std::uint64_t bytes = 0;
      std::int64_t files = 0;
    };
    std::map<std::string, Share> shares;
    for (const FolderEntry& entry : listed_.entries) {
      Share& share = shares[entry.path.substr(0, entry.path.find('/'))];
      share.bytes += entry.bytes;
      ++share.files;
    }
    std::vector<std::pair<std::string, Share>> sorted(shares.begin(), shares.end());
    const bool by_bytes = listed_.bytes > wish_.most_bytes;
    std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
      return by_bytes ? a.second.bytes > b.second.bytes : a.second.files > b.second.files;
    });
    sorted.resize(std::min(sorted.size(), kNamed));
    std::vector<std::string> texts;
    for (const auto& [name, share] : sorted) {
      texts.push_back(fmt::format("{} ({}, {})", printable(name), folder_size_text(share.bytes),
                                  plural(share.files, "file")));
    }
    return join(texts, ", ");
  }

  void add_notices() {
    const auto tell = [&](std::vector<std::string>& paths, std::string_view what) {
      if (paths.empty()) return;
      const std::size_t more = paths.size() - std::min(paths.size(), kNamed);
      paths.resize(std::min(paths.size(), kNamed));
      for (std::string& path : paths) path = printable(path);
      listed_.notices.push_back(fmt::format("{}: {}: {}{}", wish_.option, what, join(paths, ", "),
                                            more > 0 ? fmt::format(" and {} more", more) : ""));
    };
    if (wish_.tells_links) {
      tell(leading_out_, "hosts get these links, and not what is outside the folder");
    }
    tell(others_, "left out, because they are neither files nor folders");
  }

  const ListingWish& wish_;
  ListedFolder listed_;
  std::size_t looked_at_ = 0;
  std::vector<std::string> leading_out_, others_;
};

}  // namespace

ListedFolder list_folder(const ListingWish& wish) {
  return Listing(wish).run();
}

std::string folder_size_text(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", size / 1e9);
  return bytes >= 1'000'000 ? fmt::format("{:.1f} MB", size / 1e6)
                            : fmt::format("{} kB", (bytes + 999) / 1000);
}

}  // namespace dtl
