#pragma once
// FolderCopy: the copy of a launcher's folder on this host (--sync, --venv). Its own folder in it,
// kSyncFolder, has a lock, a record of what dtlaunch has brought, and files that are still
// arriving. Files get their names when all have arrived, so that no half file has a name even if
// dtagent is killed. One thread. Throws Error(kCannotWrite) naming the path.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/folders/folder_list.h"

namespace dtl {

class FolderCopy {
 public:
  // root: an existing folder. Nothing else of it is touched before lock().
  explicit FolderCopy(std::string root);
  // Removes what has arrived and was not put in place.
  ~FolderCopy();
  FolderCopy(const FolderCopy&) = delete;
  FolderCopy& operator=(const FolderCopy&) = delete;

  // False while another process, perhaps of another host, brings files to the same folder.
  bool lock();

  // The entries whose bytes are missing here: files of another size or time. Throws if something in
  // the way was not brought by dtlaunch: a link where a folder must be. Calls `progress` from time
  // to time, as put_in_place() does.
  std::vector<std::size_t> missing(const FolderList& entries,
                                   const std::function<void()>& progress);

  // Takes the bytes of a missing file: `read` fills the room that it gets.
  void take(const FolderEntry& entry, std::size_t index,
            const std::function<void(char* room, std::size_t bytes)>& read);

  // Once all missing files have been taken: removes what earlier syncs have brought and this one
  // has not, and gives everything its name.
  void put_in_place(const FolderList& entries, const std::function<void()>& progress);

 private:
  std::string place(const std::string& path) const { return root_ + "/" + path; }
  std::string arriving(std::size_t index) const;
  bool has_parents(const std::string& path);
  void make_parents(const std::string& path) const;
  void remove_gone(const FolderList& entries);
  void remove_arriving() const;
  void put_entry(const FolderEntry& entry, std::size_t index);
  void put_link(const FolderEntry& link, std::size_t index) const;
  void give_name(const std::string& from, const std::string& path) const;
  void write_record(const std::set<std::string>& paths) const;

  std::string root_;
  std::string own_;                // root_/kSyncFolder
  Fd lock_;                        // valid: locked
  std::set<std::string> brought_;  // by earlier syncs; empty folders end with '/'
  std::set<std::string> folders_;  // those that are no links
};

}  // namespace dtl
