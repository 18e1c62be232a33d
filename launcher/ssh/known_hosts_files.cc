#include "launcher/ssh/known_hosts_files.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace dtl {
namespace {

bool same_time(const timespec& left, const timespec& right) {
  return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
}

bool unchanged(const struct stat& then, const struct stat& now) {
  return then.st_dev == now.st_dev && then.st_ino == now.st_ino && then.st_size == now.st_size &&
         same_time(then.st_mtim, now.st_mtim) && same_time(then.st_ctim, now.st_ctim);
}

class Service : public asio::execution_context::service {
 public:
  using key_type = Service;
  static asio::execution_context::id id;

  explicit Service(asio::execution_context& context) : asio::execution_context::service(context) {}
  std::shared_ptr<KnownHostsFiles> files() const { return files_; }

 private:
  void shutdown() override {}

  // Workers may outlive the context.
  std::shared_ptr<KnownHostsFiles> files_ = std::make_shared<KnownHostsFiles>();
};
asio::execution_context::id Service::id;

}  // namespace

std::shared_ptr<const KnownHostsIndex> KnownHostsFiles::index_of(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return nullptr;
  // Held while the file is read: the other hosts of a job that starts want the same one.
  const std::lock_guard lock(mutex_);
  File& file = files_[path];
  if (file.index && unchanged(file.status, now)) return file.index;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  file = {now, std::make_shared<const KnownHostsIndex>(text.str(), path)};
  return file.index;
}

std::vector<KnownHostsLine> KnownHostsFiles::about(const std::vector<std::string>& files,
                                                   const std::string& host) {
  std::vector<KnownHostsLine> lines;
  for (const std::string& path : files) {
    const auto index = index_of(path);
    if (!index) continue;
    std::vector<KnownHostsLine> found = index->about(host);
    std::move(found.begin(), found.end(), std::back_inserter(lines));
  }
  return lines;
}

std::shared_ptr<KnownHostsFiles> known_hosts_files_of(asio::io_context& context) {
  return asio::use_service<Service>(context).files();
}

}  // namespace dtl
