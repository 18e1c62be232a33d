// An empty variable counts as not set.
#include "ring/api/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "ring/api/launchers_secret.h"
#include "ring/common/comm_error.h"
#include "ring/common/crypto.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kMaxSecretBytes = 4096;  // of a secret file
constexpr int kMaxCpu = 65535;
constexpr const char* kLaunch = "dtlaunch -np 2 PROGRAM";

std::string optional(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

CommError bad_variable(const char* name, const std::string& value, const std::string& reason) {
  return {DT_E_INVAL, fmt::format("{}={}", name, value), reason};
}

std::string required(const char* name) {
  std::string value = optional(name);
  if (value.empty()) throw CommError(DT_E_INVAL, name, "the variable is not set", kLaunch);
  return value;
}

int required_integer(const char* name, std::int64_t low, std::int64_t high) {
  const std::string value = required(name);
  const auto number = parse_integer(value, low, high);
  if (!number) {
    throw bad_variable(name, value, whole_number_fault(value, low, high));
  }
  return static_cast<int>(*number);
}

// DTRING_COMM_CPUS="0,32".
std::vector<int> comm_cpus() {
  constexpr const char* kName = "DTRING_COMM_CPUS";
  const std::string value = optional(kName);
  std::vector<int> cpus;
  for (const std::string& word : split(value, ',')) {
    if (value.empty()) break;
    const auto cpu = parse_integer(word, 0, kMaxCpu);
    if (!cpu) throw bad_variable(kName, value, fmt::format("'{}' is not a CPU number", word));
    cpus.push_back(static_cast<int>(*cpu));
  }
  return cpus;
}

// A number of seconds, returned in ms.
int milliseconds(const char* name, int otherwise) {
  const std::string value = optional(name);
  if (value.empty()) return otherwise;
  constexpr std::int64_t kMost = 1'000'000;  // in ms it still is an int
  const auto seconds = parse_integer(value, 1, kMost);
  if (!seconds) throw bad_variable(name, value, whole_number_fault(value, 1, kMost, "seconds"));
  return static_cast<int>(*seconds * 1000);
}

bool is_on(const char* name, bool otherwise) {
  const std::string value = optional(name);
  if (value.empty()) return otherwise;
  if (value == "0" || value == "1") return value == "1";
  throw bad_variable(name, value, "neither 0 nor 1");
}

int wire_named(const char* name) {
  const std::string value = optional(name);
  if (value.empty() || value == "exact" || value == "fp32") return DT_WIRE_EXACT;
  if (value == "bf16") return DT_WIRE_BF16;
  if (value == "f16" || value == "fp16") return DT_WIRE_F16;
  throw bad_variable(name, value, "not one of exact, bf16, f16");
}

void print_warning(const char* text, void*) {
  const std::string line = fmt::format("dtring: warning: {}\n", text);
  // One write, so that lines of several ranks do not mix. stdio's buffers belong to the program.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

CommError bad_secret(const std::string& where, const std::string& reason,
                     const std::string& hint = {}) {
  return {DT_E_AUTH, where + ": cannot read the secret", reason, hint};
}

// From offset 0, so that it can be read again: sibling ranks share one offset. From a pipe, at the
// current position.
std::vector<std::uint8_t> read_secret(int fd, std::size_t limit, const std::string& where) {
  std::vector<std::uint8_t> secret(limit);
  std::size_t filled = 0;
  while (filled < limit) {
    ssize_t n = ::pread(fd, secret.data() + filled, limit - filled, static_cast<off_t>(filled));
    if (n < 0 && errno == ESPIPE) n = ::read(fd, secret.data() + filled, limit - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw bad_secret(where, errno_text(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  if (filled < kSecretBytes) {
    throw bad_secret(where, fmt::format("it has {} bytes, fewer than {}", filled, kSecretBytes));
  }
  secret.resize(filled);
  return secret;
}

std::vector<std::uint8_t> secret_from_descriptor(const std::string& value) {
  const std::string where = fmt::format("DTRING_SECRET_FD={}", value);
  const auto fd = parse_integer(value, 0, 1 << 20);
  if (!fd) throw bad_secret(where, "not the number of a descriptor");
  // A program in between may have closed the descriptor and reused its number.
  if (!is_sealed_memory(static_cast<int>(*fd))) {
    const auto above = sealed_memory_above(static_cast<int>(*fd));
    if (above) return read_secret(above->get(), kSecretBytes, where);
  }
  auto secret = read_secret(static_cast<int>(*fd), kSecretBytes, where);
  set_close_on_exec(static_cast<int>(*fd), true);  // children of this program must not inherit it
  return secret;
}

std::vector<std::uint8_t> secret_from_file(const std::string& path) {
  const std::string where = fmt::format("DTRING_SECRET_FILE={}", path);
  // O_NOFOLLOW, and fstat of the opened file: nobody can replace the file between check and use.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) throw bad_secret(where, errno_text(errno));
  if (!S_ISREG(status.st_mode)) throw bad_secret(where, "it is not a regular file");
  if ((status.st_mode & 077) != 0) {
    throw bad_secret(where, "others may read or write it", fmt::format("chmod 600 {}", path));
  }
  return read_secret(fd.get(), kMaxSecretBytes, where);
}

}  // namespace

std::uint64_t job_number(const std::string& job) {
  if (job.empty()) return 0;
  const Digest digest = sha256(job);
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

EnvironmentOptions::EnvironmentOptions() {
  dt_options_init(&options_, sizeof options_);
  // read_choices() takes this as unchanged; dt_options_init sets exact.
  options_.wire = DT_WIRE_DEFAULT;
  options_.world = required_integer("WORLD_SIZE", 1, 65535);
  options_.rank = required_integer("RANK", 0, options_.world - 1);
  read_choices();  // also for one rank, so that errors never depend on the number
  if (options_.world == 1) return;
  master_address_ = required("MASTER_ADDR");
  options_.master_address = master_address_.c_str();
  options_.master_port = required_integer("MASTER_PORT", 1, 65535);
  read_place();
  read_secret();
}

EnvironmentOptions::EnvironmentOptions(const dt_options& given) : options_(given) {
  read_choices();
  if (options_.world == 1) return;
  read_place();
  if (options_.secret_bytes == 0) read_secret();
}

// Reads the place and host of this rank. Strings are members, since options_ points into them.
void EnvironmentOptions::read_place() {
  host_name_ = optional("DTLAUNCH_HOST");
  if (options_.host_name == nullptr) options_.host_name = host_name_.c_str();
  address_ = optional("DTRING_ADDRESS");
  if (options_.address == nullptr && !address_.empty()) options_.address = address_.c_str();
  tuning_.cpus = comm_cpus();
  if (options_.job == 0) options_.job = job_number(optional("DTLAUNCH_JOB"));
}

void EnvironmentOptions::read_secret() {
  const std::string descriptor = optional("DTRING_SECRET_FD");
  const std::string path = optional("DTRING_SECRET_FILE");
  if (descriptor.empty() && path.empty()) {
    throw CommError(DT_E_AUTH, "cannot read the secret",
                    "neither DTRING_SECRET_FD nor DTRING_SECRET_FILE is set", kLaunch);
  }
  secret_ = descriptor.empty() ? secret_from_file(path) : secret_from_descriptor(descriptor);
  options_.secret = secret_.data();
  options_.secret_bytes = static_cast<std::uint32_t>(secret_.size());
}

void EnvironmentOptions::read_choices() {
  allreduce_ = optional("DTRING_ALLREDUCE");
  if (options_.allreduce == nullptr && !allreduce_.empty()) {
    options_.allreduce = allreduce_.c_str();
  }
  if (options_.wire == DT_WIRE_DEFAULT) options_.wire = wire_named("DTRING_WIRE");
  if (is_on("DTRING_DETERMINISTIC", false)) options_.flags |= DT_DETERMINISTIC;
  if (is_on("DTRING_ENCRYPT", false)) options_.flags |= DT_ENCRYPT;
  if (options_.streams == 0 && !optional("DTRING_STREAMS").empty()) {
    options_.streams = required_integer("DTRING_STREAMS", 1, 64);
  }
  if (options_.operation_timeout_ms == kDefaultOperationTimeout_ms) {
    options_.operation_timeout_ms = milliseconds("DTRING_TIMEOUT", kDefaultOperationTimeout_ms);
  }
  if (options_.warn_timeout_ms == kDefaultWarnTimeout_ms) {
    options_.warn_timeout_ms = milliseconds("DTRING_WARN", kDefaultWarnTimeout_ms);
  }
  if (options_.warn == nullptr) options_.warn = print_warning;
  tuning_.tunes = is_on("DTRING_TUNE", true);
  tuning_.is_verbose = is_on("DTRING_VERBOSE", false);
  tuning_.silence = std::chrono::milliseconds(
      milliseconds("DTRING_SILENCE", static_cast<int>(tuning_.silence.count())));
  if (!is_on("DTRING_SHARE", true)) tuning_.node = "none";
}

EnvironmentOptions::~EnvironmentOptions() {
  Key::wipe(secret_.data(), secret_.size());
}

}  // namespace dtl::ring
