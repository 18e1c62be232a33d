// The kernel counts out-of-memory kills since boot and names no process. So the counts at the start
// are subtracted. A kill that only the node's counter shows is attributed to a rank that was killed
// and large.
#include "agent/job/failure_evidence.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/runtime_folder.h"

namespace dtl {
namespace {

constexpr std::string_view kErrorVariable = "TORCHELASTIC_ERROR_FILE=";
constexpr std::string_view kStackVariable = "DTLAUNCH_STACK_FILE=";
constexpr std::string_view kGraceVariable = "DTLAUNCH_GRACE_FILE=";

std::uint64_t node_memory_kib() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace

std::string read_up_to(const std::string& path, std::size_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string text(most, '\0');
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

FailureEvidence::FailureEvidence(std::string job_id) : before_(count_oom_kills("")) {
  try {
    // With the pid: a host may be in the hostfile twice.
    folder_ = runtime_subfolder("errors-" + job_id + "-" + std::to_string(::getpid()));
    ::unlink(grace_path().c_str());  // a killed agent with this pid may have left it
  } catch (const Error&) {
    folder_.clear();  // a full /tmp must not keep a job from running
  }
}

FailureEvidence::~FailureEvidence() {
  if (folder_.empty()) return;
  for (const std::uint32_t rank : ranks_) {
    ::unlink(error_path(rank).c_str());
    ::unlink(stack_path(rank).c_str());
  }
  ::unlink(grace_path().c_str());
  ::rmdir(folder_.c_str());
}

std::string FailureEvidence::error_path(std::uint32_t rank) const {
  return folder_ + "/rank." + std::to_string(rank) + ".json";
}

std::string FailureEvidence::stack_path(std::uint32_t rank) const {
  return folder_ + "/rank." + std::to_string(rank) + ".stack";
}

std::string FailureEvidence::grace_path() const {
  return folder_ + "/grace";
}

// Ranks may get less time than they were told at their start. A rank that cannot read the file
// keeps that value.
void FailureEvidence::tell_grace(std::chrono::milliseconds grace) const {
  if (folder_.empty()) return;
  const std::string whole = std::to_string(grace.count() / 1000);
  const std::string rest = std::to_string(1000 + grace.count() % 1000).substr(1);
  const Fd file(
      ::open(grace_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return;
  try {
    write_all(file.get(), whole + "." + rest + "\n");
  } catch (const Error&) {
    ::unlink(grace_path().c_str());  // disk full
  }
}

std::vector<std::string> FailureEvidence::file_variables(
    std::uint32_t rank, const std::vector<std::string_view>& environment) {
  if (folder_.empty()) return {};
  ranks_.push_back(rank);
  // A killed agent with this pid may have left them.
  ::unlink(error_path(rank).c_str());
  ::unlink(stack_path(rank).c_str());
  std::vector<std::string> variables = {std::string(kStackVariable) + stack_path(rank),
                                        std::string(kGraceVariable) + grace_path()};
  // A file that the user chose stays theirs, and is not read here.
  const auto set = [](std::string_view entry) { return entry.starts_with(kErrorVariable); };
  if (std::none_of(environment.begin(), environment.end(), set)) {
    variables.push_back(std::string(kErrorVariable) + error_path(rank));
  }
  return variables;
}

bool is_large_on_node(std::uint64_t peak_kib, std::uint64_t node_kib) {
  // If 512 ranks fill a node, each has twice this part.
  constexpr std::uint64_t kSmallestPart = 1000;
  return peak_kib >= node_kib / kSmallestPart;
}

Evidence FailureEvidence::about(std::uint32_t rank, bool killed, std::uint64_t peak_kib) const {
  Evidence evidence;
  evidence.rank = rank;
  // A rank that was not killed may have lost a child process, such as a data loader, but a kill
  // elsewhere on the node proves nothing about it.
  const OomKills now = count_oom_kills("");
  const std::uint64_t in_group = now.in_group - std::min(now.in_group, before_.in_group);
  const std::uint64_t on_node = now.on_node - std::min(now.on_node, before_.on_node);
  const bool may_be_its = killed && is_large_on_node(peak_kib, node_memory_kib());
  // A kill counted by our own control group is stronger evidence than one of the whole node.
  evidence.oom_kills = static_cast<std::uint32_t>(in_group > 0 ? in_group
                                                  : may_be_its ? on_node
                                                               : 0);
  if (evidence.oom_kills > 0) evidence.memory_limit = read_cgroup_limits("").memory_bytes;
  // torch writes far less than a message may hold; a longer file is cut and then not valid JSON.
  if (!folder_.empty()) evidence.error_file = read_up_to(error_path(rank), kMaxOutputBytes);
  return evidence;
}

}  // namespace dtl
