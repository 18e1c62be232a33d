// Reading a mapping beyond the end of its file kills the reader, so both sides insist on the seal.
#include "base/pages/shared_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace dtl {

SharedPage::SharedPage(const char* name, std::size_t bytes) : bytes_(bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return;
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return;
  data_ = data;
  fd_ = std::move(fd);
}

SharedPage::SharedPage(SharedPage&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedPage& SharedPage::operator=(SharedPage&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedPage::~SharedPage() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

bool has_page_name(const std::string& path, const char* name) {
  // The kernel's name for a memfd.
  const std::string wanted = std::string("/memfd:") + name + " (deleted)";
  char target[64];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size > 0 && std::string_view(target, static_cast<std::size_t>(size)) == wanted;
}

SeenMemory::SeenMemory(const std::string& path, std::size_t bytes) : bytes_(bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 ||
      status.st_size < static_cast<off_t>(bytes)) {
    return;
  }
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return;
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data != MAP_FAILED) data_ = data;
}

SeenMemory::~SeenMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace dtl
