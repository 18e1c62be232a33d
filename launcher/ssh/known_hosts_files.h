#pragma once
// KnownHostsFiles: the known_hosts files that the hosts of a job share. Each file is read when the
// first host asks, and again when it has changed (ssh-keygen -R while `dtlaunch up` runs). One per
// io_context, as BlockingCalls; workers that use it share it.

#include <sys/stat.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher/ssh/known_hosts_index.h"
#include "wire/asio.h"

namespace dtl {

// Thread-safe.
class KnownHostsFiles {
 public:
  // The lines of all files about the host, in the order of the files. A file that is not there has
  // none. Blocks.
  std::vector<KnownHostsLine> about(const std::vector<std::string>& files, const std::string& host);

 private:
  struct File {
    struct stat status {};
    std::shared_ptr<const KnownHostsIndex> index;  // shared with the threads that read in it
  };
  std::shared_ptr<const KnownHostsIndex> index_of(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, File> files_;  // by path
};

// Made at the first call. Of the context's thread.
std::shared_ptr<KnownHostsFiles> known_hosts_files_of(asio::io_context& context);

}  // namespace dtl
