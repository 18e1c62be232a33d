#pragma once
// FolderList: what is in a folder that dtlaunch brings to hosts (--sync, --venv), and the request
// that a launcher sends to dtagent --receive-folder. Paths are relative to the folder and may hold
// any byte but NUL. Pure. A reader of outside data: nothing that it returns leads out of the
// folder. Throws Error(kIo) for anything else.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

enum class EntryKind { kFile, kLink, kEmptyFolder };

// Folders that hold something need no entry of their own.
struct FolderEntry {
  EntryKind kind = EntryKind::kFile;
  std::string path;
  unsigned mode = 0;             // permission bits of a file
  std::uint64_t bytes = 0;       // of a file
  std::int64_t modified_ns = 0;  // of a file, since 1970
  std::string target = {};       // of a link, as it is stored

  bool operator==(const FolderEntry&) const = default;
};
using FolderList = std::vector<FolderEntry>;

struct FolderRequest {
  std::string root;                 // absolute: where the folder is here, and should be there
  std::string proof;                // a file in it; a host that has this file sees the same folder
  std::string elsewhere = {};       // a name in the host's cache if `root` cannot be; empty: none
  std::string python = {};          // this program must be there, too; empty: none
  std::string python_version = {};  // "3.11"
  FolderList entries = {};

  bool operator==(const FolderRequest&) const = default;
};

constexpr std::size_t kMaxRequestBytes = 256 << 20;  // 500,000 files with paths of 400 bytes

std::string folder_request_text(const FolderRequest& request);
FolderRequest parse_folder_request(std::string_view text);

// In the copy on a host: dtlaunch's own folder, and in the original: the names of proofs.
constexpr std::string_view kSyncFolder = ".dtlaunch-sync";
constexpr std::string_view kProofPrefix = ".dtlaunch-proof.";
bool is_own_name(std::string_view name);  // one of these

// The lines that dtagent --receive-folder writes on standard output, after whatever the login shell
// printed. Each is one line "\nDTLAUNCH-SYNC ...\n":
//  same          the host sees the same folder; the end
//  at            it waits for another sync, or its disk is slow
//  want 0-3,7    the entries whose bytes it lacks (wanted_text()); they follow without separators
//  done FOLDER   all is in place there; the end
// Before them, the launcher has sent the request's length, a newline and the request.
constexpr std::string_view kSyncMarker = "\nDTLAUNCH-SYNC ";

// Whether it names something in the folder: relative, without empty parts, "." and "..", and not
// dtlaunch's own.
bool is_inner_path(std::string_view path);

// Whether a link's target is outside the folder: absolute, or with too many "..". Judged by names
// alone; links on the way are not followed.
bool leads_out(const FolderEntry& link);

// "0-3,7", or "none": which entries a host lacks, in ascending order.
std::string wanted_text(const std::vector<std::size_t>& wanted);
// count: the number of entries.
std::vector<std::size_t> parse_wanted(std::string_view text, std::size_t count);

}  // namespace dtl
