#pragma once
// Bundle: the programs that --push brings to a host, as they lie beside dtlaunch. Its name stands
// for their contents: 0.1.0-0123456789abcdef, with -dttrain where the trainer is one of them.

#include <memory>
#include <string>
#include <vector>

namespace dtl {

struct BundleFile {
  std::string name, bytes, sha256;
};

struct Bundle {
  std::string name;
  std::vector<BundleFile> files;  // the first is dtagent
};

// What bringing it to a host came to.
struct Pushed {
  std::size_t sent_bytes = 0;  // 0: the programs were there
  std::string folder;          // where they are; known only when nothing was started from there
};

// dtagent and dtguard, and dttrain where `with_trainer`. Throws Error(kConfig) when one is missing.
// Shared by the starts on all hosts.
std::shared_ptr<const Bundle> load_bundle(const std::string& folder, bool with_trainer);

// True when a job runs our trainer: the program is dttrain, wherever it is found.
bool runs_pushed_trainer(const std::vector<std::string>& command);

}  // namespace dtl
