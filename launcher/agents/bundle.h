#pragma once
// Bundles: the programs that --push brings to hosts, one Bundle for each architecture. Those of
// dtlaunch's own architecture are beside it; those of others are below ../libexec/dtlaunch, in a
// folder with the name that `uname -m` prints there, such as aarch64. A Bundle's name contains a
// hash of its contents: 0.1.0-0123456789abcdef, with -dttrain where the trainer is one of them. A
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
  std::string architecture;  // as uname(2) has it: "x86_64", "aarch64"
  std::string name;
  std::vector<BundleFile> files;  // the first is dtagent
};

struct Bundles {
  std::vector<Bundle> all;  // at least one; the first is for dtlaunch's own architecture
  std::string elsewhere;    // the folder of the others
  bool with_trainer = false;

  // null: there is none.
  const Bundle* find(const std::string& architecture) const;
  // Why there is none: the first program that the folder of this architecture lacks, with its path.
  // `architecture` comes from a host.
  std::string missing_program(const std::string& architecture) const;
};

// The result of a push to one host.
struct Pushed {
  std::string name;            // of the bundle; empty: nothing was asked for
  std::size_t sent_bytes = 0;  // by the launcher; of files
  std::string from;            // the host that sent the rest; empty: none
  std::string folder;          // where they are; set only if nothing was started there
  bool seeds = false;          // it gives them to others while its stream is open
};

// Reads dtagent and dtguard, dtpmix if it is there, and dttrain if `with_trainer`, from `folder`;
// and the same for each other architecture that has all of them. Throws Error(kConfig) if `folder`
// lacks one. Shared, because each host would otherwise need a copy of some 45 MB.
std::shared_ptr<const Bundles> load_bundles(const std::string& folder, bool with_trainer);

// True when a job runs our trainer: the program is just "dttrain". A path to it names a file that
// the user expects on the hosts.
bool runs_pushed_trainer(const std::vector<std::string>& command);

}  // namespace dtl
