#include "agent/container/node_container.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "agent/container/podman_process.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/error.h"
#include "base/machine/runtime_folder.h"
#include "plan/container.h"

namespace dtl {
namespace {

constexpr std::uint64_t kHolderFiles = 1024;
constexpr std::uint64_t kHolderProcesses = 32768;  // podman lowers its own limit to this
constexpr std::int64_t kRemovalMs = 5000;  // podman needs a third of a second; disks may be slow

std::uint64_t limit_up_to(int resource, std::uint64_t most) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return most;
  return std::min<std::uint64_t>(limit.rlim_max, most);
}

std::string answer_of(std::string_view word, const std::string& text) {
  constexpr std::string_view kPrefix = "Error: ";
  return fmt::format("{} {}", word, text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
}

// A folder that is missing here is refused by the rank's chdir, with a better message than
// podman's.
bool exists(const std::string& folder) {
  return ::access(folder.c_str(), F_OK) == 0;
}

ContainerWish wish_of(const Examine& question, const std::string& job_id,
                      const std::string& own_folder) {
  ContainerWish wish;
  for (const Fact& fact : question.parameters) {
    if (fact.name == kContainerFact) wish.image = fact.value;
    if (fact.name == kContainerFolder && exists(fact.value)) wish.folders.push_back(fact.value);
  }
  wish.name = fmt::format("dtlaunch-{}-{}", job_id, ::getpid());
  wish.holder = own_folder + "/dtagent";
  wish.most_files = limit_up_to(RLIMIT_NOFILE, kHolderFiles);
  wish.most_processes = limit_up_to(RLIMIT_NPROC, kHolderProcesses);
  return wish;
}

Fd duplicate(const Fd& file) {
  if (!file.valid()) return {};
  Fd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) throw system_error("cannot duplicate a descriptor");
  return copy;
}

// conmon, whose parent has ended, and a podman that has not ended yet.
bool has_container_child() {
  const auto processes = scan_processes();
  return std::any_of(processes.begin(), processes.end(), [](const Process& process) {
    return process.alive && process.tends_container && process.parent == ::getpid();
  });
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

NodeContainer::NodeContainer(asio::io_context& context, TaskGroup& tasks,
                             const std::string& own_folder)
    : context_(context), tasks_(tasks), own_folder_(own_folder) {}

bool NodeContainer::is_wanted(const Examine& question) {
  return std::any_of(question.parameters.begin(), question.parameters.end(),
                     [](const Fact& fact) { return fact.name == kContainerFact; });
}

void NodeContainer::prepare(const Examine& question, const std::string& job_id,
                            std::function<void(std::string answer)> done) {
  ContainerWish wish = wish_of(question, job_id, own_folder_);
  try {
    // Ranks and agent exchange files there: stacks, error files.
    wish.folders.push_back(runtime_folder());
  } catch (const Error&) {
    // As without a container: those files are then left out.
  }
  const bool starts = std::any_of(question.parameters.begin(), question.parameters.end(),
                                  [](const Fact& fact) { return fact.name == kContainerStart; });
  tasks_.spawn(prepare_now(std::move(wish), starts, std::move(done)));
}

awaitable<void> NodeContainer::prepare_now(ContainerWish wish, bool starts,
                                           std::function<void(std::string answer)> done) {
  std::string answer;
  try {
    answer = co_await find_image(wish.image);
    if (answer.empty() && starts) answer = co_await start(wish);
  } catch (const Error& error) {
    answer = error.number() == ENOENT ? std::string(kNoPodman)
                                      : answer_of(kContainerFailed, error.what());
  }
  done(std::move(answer));
}

awaitable<std::string> NodeContainer::find_image(std::string image) {
  used_podman_ = true;
  PodmanProcess podman(context_, words_to_find_image(image));
  const int status = co_await podman.end(kContainerPatience);
  if (status == 1) co_return std::string(kNoImage);
  co_return status == 0 ? std::string() : answer_of(kContainerFailed, podman.errors());
}

awaitable<std::string> NodeContainer::start(ContainerWish wish) {
  PodmanProcess podman(context_, words_to_start(wish));
  const bool in_time = co_await podman.link_ready(kContainerPatience);
  Fd link = podman.take_link();
  std::optional<HeldContainer> held = in_time ? receive_held(link.get()) : std::nullopt;
  if (!held) link.reset();  // a holder that is still coming up ends by this
  const int status = co_await podman.end(in_time ? kContainerPatience : std::chrono::seconds(0));
  if (!in_time) {
    co_return answer_of(kContainerFailed, fmt::format("podman has not started it within {} s",
                                                      kContainerPatience.count()));
  }
  if (!held || status != 0) co_return answer_of(kContainerFailed, podman.errors());
  held_ = std::move(*held);
  link_ = std::move(link);
  co_return std::string();
}

std::vector<std::string_view> NodeContainer::merged(
    const std::vector<std::string_view>& environment) const {
  std::map<std::string_view, std::string_view> by_name;
  for (const std::string_view variable : held_.environment) {
    // podman's guess: ranks write into pipes.
    if (name_of(variable) != "TERM") by_name[name_of(variable)] = variable;
  }
  for (const std::string_view variable : environment) by_name[name_of(variable)] = variable;
  std::vector<std::string_view> all;
  for (const auto& [name, variable] : by_name) all.push_back(variable);
  return all;
}

Fd NodeContainer::user_namespace() const {
  return duplicate(held_.user_namespace);
}

Fd NodeContainer::mount_namespace() const {
  return duplicate(held_.mount_namespace);
}

void NodeContainer::end() {
  if (!std::exchange(used_podman_, false)) return;
  held_ = {};
  link_.reset();
  const std::int64_t deadline = boot_time_ms() + kRemovalMs;
  while (has_container_child() && boot_time_ms() < deadline) sleep_ms(5);
}

}  // namespace dtl
