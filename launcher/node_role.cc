#include "launcher/node_role.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/join/join_caller.h"
#include "launcher/join/token.h"
#include "launcher/options/trusted_file.h"
#include "launcher/request/job_engine.h"
#include "wire/messages.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kUsualPort = 29500;      // where the engine names none
constexpr auto kStartTimeout = 300s;   // for images to be fetched and names to resolve
constexpr auto kProgress = 10s;        // between two lines about a wait
constexpr auto kTellPatience = 5s;     // for the other nodes to take the exit status
constexpr std::size_t kMostNames = 8;  // of nodes, in a line

// Out of this process's environment, and with it out of what it starts.
std::optional<std::string> take_variable(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string text = value;
  ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(name);
  return text;
}

std::string take_token(Engine engine) {
  const auto given = take_variable("DTL_TOKEN");
  if (const char* path = std::getenv("DTL_TOKEN_FILE"); path != nullptr && *path != '\0') {
    return parse_token(read_trusted_file(path, kMaxTokenBytes, "token"),
                       fmt::format("DTL_TOKEN_FILE={}", printable(path)));
  }
  if (given && !given->empty()) return parse_token(*given, "DTL_TOKEN");
  throw Error(Exit::kConfig, "the job has no token",
              "by it its nodes know each other; neither DTL_TOKEN_FILE nor DTL_TOKEN is set",
              token_line(engine));
}

void refuse_what_nodes_cannot(const CommandLine& line, EngineEvidence& evidence) {
  if (const auto& refusal = evidence.refusal) {
    throw Error(Exit::kConfig, refusal->attempted, refusal->reason, refusal->hint);
  }
  const std::string engine(engine_name(evidence.engine));
  if (evidence.elastic || !evidence.node_count) {
    throw Error(Exit::kConfig, fmt::format("a job of {} whose nodes are not counted", engine),
                "its first node has to know for how many others it waits",
                "DTL_NNODES=N, and no elasticPolicy");
  }
  if (!evidence.node_rank) evidence.node_rank = evidence.node_hint;
  if (!evidence.node_rank || evidence.coordinator.empty()) {
    throw Error(Exit::kConfig,
                fmt::format("which node of the job this is, {} does not say", engine),
                "each node needs its number, and the name of the first one",
                "DTL_NODE_RANK=R and DTL_RDZV=NAME:PORT");
  }
  evidence.is_coordinator = *evidence.node_rank == 0;
  for (const auto& [given, option] : {std::pair(line.detach, "--detach"),
                                      {line.push, "--push"},
                                      {line.agent_start.has_value(), "-launcher"}}) {
    if (!given) continue;
    throw Error(Exit::kUsage, option,
                fmt::format("{} has started dtlaunch on every node, and keeps it", engine),
                "the same without it; --engine none for a job of this node alone");
  }
}

// From here on each task is a node of one rank.
void count_tasks(EngineEvidence& evidence) {
  if (evidence.role != EngineRole::kRank || !evidence.rank) return;
  evidence.node_rank = evidence.rank->rank;
  evidence.node_count = evidence.rank->world_size;
  evidence.ranks_per_node = 1;
}

// Readable when a signal has come that ends the job; they are held back meanwhile.
class SignalsWhileWaiting {
 public:
  SignalsWhileWaiting() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      if (!is_ignored(signal)) ::sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.valid()) throw system_error("cannot wait for signals");
  }
  ~SignalsWhileWaiting() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWhileWaiting(const SignalsWhileWaiting&) = delete;
  SignalsWhileWaiting& operator=(const SignalsWhileWaiting&) = delete;

  int descriptor() const { return fd_.get(); }
  std::optional<int> take() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

}  // namespace

NodeRole::NodeRole(EngineEvidence evidence, std::chrono::seconds patience, std::string token)
    : evidence_(std::move(evidence)), patience_(patience), token_(std::move(token)) {
  if (evidence_.coordinator_port == 0) evidence_.coordinator_port = kUsualPort;
}

std::unique_ptr<NodeRole> NodeRole::find(const CommandLine& given, const Surroundings& around) {
  bool hosts_named = false;
  const CommandLine line = with_job_file(given, hosts_named);
  if (hosts_named) return nullptr;
  EngineEvidence evidence = evidence_beside(line, false, around);
  if (evidence.role == EngineRole::kLauncher) return nullptr;
  if (evidence.role == EngineRole::kNode && evidence.node_count == 1) return nullptr;
  check_tasks(line, evidence);
  count_tasks(evidence);
  refuse_what_nodes_cannot(line, evidence);
  for (const std::string& warning : evidence.warnings) log_notice(warning);
  const auto patience = line.start_timeout
                            ? std::chrono::ceil<std::chrono::seconds>(*line.start_timeout)
                            : std::chrono::seconds(kStartTimeout);
  const Engine engine = evidence.engine;
  return std::unique_ptr<NodeRole>(new NodeRole(std::move(evidence), patience, take_token(engine)));
}

int NodeRole::join(const std::string& agent_path) const {
  JoinCall call;
  call.token = token_;
  call.host = evidence_.coordinator;
  call.port = evidence_.coordinator_port;
  call.hello = {kProtocol,         DTL_VERSION,          evidence_.job_id,
                evidence_.restart, *evidence_.node_rank, own_host_name()};
  call.agent_path = agent_path;
  call.patience = patience_;
  return serve_joined_job(std::move(call));
}

void NodeRole::open_room() {
  JoinRoomOptions options;
  options.token = token_;
  const auto port = static_cast<std::uint16_t>(evidence_.coordinator_port);
  options.ports = {port, port};
  options.expected.job = evidence_.job_id;
  options.expected.restart = evidence_.restart;
  options.expected.count = *evidence_.node_count - 1;
  options.expected.first_rank = 1;
  options.told_to_stop = [this](std::size_t place, const std::string& node) {
    told_to_stop(place, node);
  };
  room_ = std::make_unique<JoinRoom>(std::move(options));
}

// On the room's thread. Where no session runs, whoever waits for nodes or between two epochs hears
// the signal.
void NodeRole::told_to_stop(std::size_t place, const std::string& node) {
  std::string host;
  {
    const std::lock_guard lock(names_mutex_);
    if (place + 1 < names_.size()) host = names_[place + 1];
  }
  const std::string by(engine_name(evidence_.engine));
  if (!host.empty() && control_->host_goes(host, by + " ends it")) return;
  log_notice(node + ": told to end by its engine; the job ends with it");
  ::kill(::getpid(), SIGTERM);
}

std::string NodeRole::missing() const {
  const std::vector<std::string> present = room_->present();
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i].empty()) ranks.push_back(std::to_string(i + 1));
  }
  const bool many = ranks.size() > kMostNames;
  const std::size_t count = ranks.size();
  if (many) ranks.resize(kMostNames);
  return count == 0 ? std::string()
                    : fmt::format("{}{} {}{}", are_tasks() ? "task" : "node", count == 1 ? "" : "s",
                                  dtl::join(ranks, ", "),
                                  many ? fmt::format(" and {} more", count - kMostNames) : "");
}

NodeRole::Gathered NodeRole::gather() {
  const SignalsWhileWaiting signals;
  open_room();
  const Clock::time_point began = Clock::now(), end = began + patience_;
  Clock::time_point next_line = began + kProgress;
  for (;;) {
    room_->changed();
    const std::string absent = missing();
    if (absent.empty()) break;
    const Clock::time_point now = Clock::now();
    if (now >= end) {
      throw Error(Exit::kTimeout, absent + " of the job did not come",
                  fmt::format("waited for {} s at port {}", patience_.count(), room_->port()),
                  "see what they say, or --start-timeout SECONDS");
    }
    if (now >= next_line) {
      next_line += kProgress;
      log_notice(fmt::format("waiting for {} since {} s", absent, (now - began) / 1s));
    }
    pollfd waits[] = {{room_->change_descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min(end, next_line) - now).count();
    ::poll(waits, 2, static_cast<int>(left));
    if (const auto signal = signals.take()) return {{}, 128 + *signal};
  }
  name_nodes();
  std::string hosts;
  for (const std::string& name : names_) {
    hosts += (hosts.empty() ? "" : ",") + name;
    if (evidence_.ranks_per_node) hosts += fmt::format(":{}", *evidence_.ranks_per_node);
  }
  return {hosts, 0};
}

// In the plan and in messages each has a name of its own, also where all are called "localhost".
void NodeRole::name_nodes() {
  const std::vector<std::string> present = room_->present();
  const std::lock_guard lock(names_mutex_);
  names_ = present;
  names_.insert(names_.begin(), own_host_name());
  std::set<std::string> taken;
  for (std::size_t rank = 0; rank < names_.size(); ++rank) {
    std::string& name = names_[rank];
    if (name.empty() || name == "localhost") name = "node";
    if (taken.contains(name)) name += fmt::format("-{}{}", are_tasks() ? "task" : "", rank);
    taken.insert(name);
  }
}

void NodeRole::serve(SessionOptions& options, const StartOptions& start) const {
  options.start_agent = starter(start);
  options.control = control_;
}

AgentStarter NodeRole::starter(StartOptions start) const {
  start.service = false;  // it would be outside of what the engine has given
  return [this, start](asio::io_context& context,
                       Host host) -> awaitable<std::unique_ptr<AgentStream>> {
    const auto at = std::find(names_.begin(), names_.end(), host.name) - names_.begin();
    if (at == 0) return start_local_agent(context, start);
    return start_on(context, static_cast<std::size_t>(at - 1));
  };
}

awaitable<std::unique_ptr<AgentStream>> NodeRole::start_on(asio::io_context& context,
                                                           std::size_t place) const {
  co_return room_->start_agent(context, place);
}

std::vector<Fenced> NodeRole::fence(const std::vector<Host>& hosts,
                                    const std::function<Fenced()>& fence_here) const {
  std::vector<Fenced> fenced;
  for (const Host& host : hosts) {
    if (is_here(host)) {
      fenced.push_back(fence_here());
      continue;
    }
    const auto at = std::find(names_.begin(), names_.end(), host.name) - names_.begin();
    const bool idle = room_->is_idle(static_cast<std::size_t>(at - 1));
    fenced.push_back({idle, idle ? "" : "its node is gone", 0});
  }
  return fenced;
}

int NodeRole::exit_status(const Outcome& outcome) {
  return outcome.cause == Cause::kNodeLost ? 128 + SIGKILL : outcome.exit_status;
}

void NodeRole::tell(int status) {
  if (room_) room_->finish(status, kTellPatience);
}

}  // namespace dtl
