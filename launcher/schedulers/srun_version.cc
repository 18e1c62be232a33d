// The cache only saves time: if anything is wrong with it, srun is asked.
#include "launcher/schedulers/srun_version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"
#include "launcher/streams/child.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 2s;            // without a slurm.conf srun searches the network
constexpr std::size_t kMostBytes = 4096;  // of srun's output, and of our cache file
constexpr std::string_view kElf = "\177ELF";

// Empty without an answer in time.
std::string ask(const std::string& srun, const std::vector<std::string>& environment) {
  // Discards its errors.
  Child child = spawn_child({srun, "--version"}, ChildErrors::kPiped, environment);
  std::string text;
  pollfd waits{child.socket.get(), POLLIN, 0};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::array<char, 256> bytes{};;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) <= 0) {
      // The whole process group: srun may be a script that waits for another program.
      ::kill(-child.pid, SIGKILL);
      log_verbose("srun --version has not answered in time");
      return {};
    }
    const ssize_t count = ::read(child.socket.get(), bytes.data(), bytes.size());
    if (count <= 0 || text.size() > kMostBytes) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  // Waits for its end, so that the Child reaps it and leaves no zombie.
  pollfd process{child.process.get(), POLLIN, 0};
  ::poll(&process, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
  return text;
}

// Identifies the file's contents: it changes when the file is replaced or written. Empty: a script,
// or not a program.
std::string identity_of(const std::string& srun) {
  // O_NONBLOCK: a named pipe must not block the start.
  const Fd file(::open(srun.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat is {};
  std::array<char, kElf.size()> begins{};
  // Only a binary: a script may run another srun the next time, though its file is unchanged.
  if (!file.valid() || ::fstat(file.get(), &is) != 0 || !S_ISREG(is.st_mode) ||
      ::read(file.get(), begins.data(), begins.size()) != static_cast<ssize_t>(begins.size()) ||
      std::string_view(begins.data(), begins.size()) != kElf) {
    return {};
  }
  // st_ctim too: an upgrade may set st_mtim to any time.
  return fmt::format("{}:{}:{}:{}.{:09}:{}.{:09}", is.st_dev, is.st_ino, is.st_size,
                     is.st_mtim.tv_sec, is.st_mtim.tv_nsec, is.st_ctim.tv_sec, is.st_ctim.tv_nsec);
}

std::string memory_path() {
  return runtime_subfolder("steps") + "/srun-version";
}

// The file's first line is an identity, its second line that srun's answer.
std::string remember(const std::string& identity) {
  if (identity.empty()) return {};
  try {
    const std::string text = read_file(memory_path(), kMostBytes);
    if (text.starts_with(identity + "\n")) return text.substr(identity.size() + 1);
  } catch (const Error&) {
    // srun is asked.
  }
  return {};
}

void keep(const std::string& identity, std::string_view text) {
  if (identity.empty()) return;
  try {
    write_private_file_atomically(memory_path(), fmt::format("{}\n{}", identity, text));
  } catch (const Error& error) {
    log_debug(fmt::format("srun is asked again the next time: {}", error.what()));
  }
}

}  // namespace

std::optional<SlurmVersion> version_of_srun(const std::string& srun,
                                            const std::vector<std::string>& environment) {
  const std::string identity = identity_of(srun);
  if (const auto version = parse_slurm_version(remember(identity))) return version;
  const std::string text = ask(srun, environment);
  const auto version = parse_slurm_version(text);
  if (version) keep(identity, split(std::string(trim(text)), '\n')[0]);
  return version;
}

}  // namespace dtl
