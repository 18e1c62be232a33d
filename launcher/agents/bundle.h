#pragma once
// Bundle: the programs that --push brings to a host, read from beside dtlaunch. Its name contains a
// hash of their contents: 0.1.0-0123456789abcdef, with -dttrain where the trainer is one of them. A
// cache on a host is therefore never stale, and two builds of one version do not mix.

#include <memory>
#include <string>
#include <vector>

namespace dtl {

// bytes: the whole file. sha256: 64 hexadecimal digits.
struct BundleFile {
  std::string name, bytes, sha256;
};

struct Bundle {
  std::string name;
  std::vector<BundleFile> files;  // the first is dtagent
};

// The result of a push to one host.
struct Pushed {
  std::size_t sent_bytes = 0;  // by the launcher; of files
  std::string from;            // the host that sent the rest; empty: none
  std::string folder;          // where they are; set only if nothing was started there
  bool seeds = false;          // it gives them to others while its stream is open
};

// Reads dtagent and dtguard, dtpmix if it is there, and dttrain if `with_trainer`. Throws
// Error(kConfig) when one is missing. Shared, because each host would otherwise need a copy of some
// 45 MB.
std::shared_ptr<const Bundle> load_bundle(const std::string& folder, bool with_trainer);

// True when a job runs our trainer: the program is just "dttrain". A path to it names a file that
// the user expects on the hosts.
bool runs_pushed_trainer(const std::vector<std::string>& command);

}  // namespace dtl
