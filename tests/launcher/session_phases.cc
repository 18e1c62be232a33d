// session_phases NODES RANKS_PER_NODE [WIDTH]: what the launcher's own work costs in a job of so
// many nodes, phase by phase, as a line of JSON. The agents are coroutines of a child process, so
// that their cost is not counted; no ssh, no ranks. The judge is session_growth.py. With WIDTH they
// are a tree: only so many talk to the launcher directly.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/descriptor_limit.h"
#include "tests/launcher/fake_agent.h"
#include "tests/launcher/fake_tree.h"

namespace dtl {
namespace {

using namespace testing_support;

constexpr int kRounds = 3;  // of reports about ranks
constexpr int kLines = 20;  // of each rank

struct Size {
  std::size_t nodes, ranks_per_node;
  int width;  // 0: no tree
};

std::string address_of(std::size_t node) {
  return "10." + std::to_string(node >> 16) + "." + std::to_string(node >> 8 & 255) + "." +
         std::to_string(node & 255);
}

NodeFacts facts_of(std::size_t node, std::size_t cores) {
  NodeFacts facts;
  facts.agent_version = DTL_VERSION;
  facts.hostname = "n" + std::to_string(node);
  facts.boot_id = facts.machine_id = "machine-" + std::to_string(node);
  facts.reached_at = address_of(node);
  facts.nics.push_back({"eth0", true, false, {address_of(node)}, {8}});
  std::vector<int> cpus;
  for (int cpu = 0; cpu < static_cast<int>(cores); ++cpu) {
    facts.topology.cores.push_back({0, 0, {cpu}});
    cpus.push_back(cpu);
  }
  facts.topology.allowed = CpuSet(cpus);
  return facts;
}

// All agents of the job. The launcher says by a byte each when the next phase may begin.
class Agents {
 public:
  Agents(Size size, std::vector<Fd> sockets, Fd orders)
      : size_(size),
        tasks_(context_),
        orders_(context_, orders.release()),
        tree_(context_, tasks_) {
    for (std::size_t node = 0; node < sockets.size(); ++node) {
      FakeAgent agent{{}, DTL_VERSION, facts_of(node, size.ranks_per_node), {}};
      agent.behaviour = [this, node](const Message& message, Connection& connection) {
        return answer(node, message, connection);
      };
      if (size.width > 0) {
        tree_.add(node, std::move(agent), std::move(sockets[node]));
      } else {
        tasks_.spawn(live(context_, std::move(agent), std::move(sockets[node]), tasks_));
      }
    }
    tasks_.spawn(obey());
  }
  void run() { context_.run(); }

 private:
  struct Node {
    Connection* connection = nullptr;
    std::vector<std::uint32_t> ranks;
  };

  bool answer(std::size_t node, const Message& message, Connection& connection) {
    if (std::holds_alternative<Listen>(message)) {
      connection.send(Listening{4000, 20001, {address_of(node)}});
    } else if (const auto* asked = std::get_if<Examine>(&message)) {
      Examined examined;
      for (const Fact& fact : asked->parameters) examined.facts.push_back({fact.name, ""});
      connection.send(examined);
    } else if (const auto* reach = std::get_if<Reach>(&message)) {
      Reached reached;
      for (const Endpoint& endpoint : reach->endpoints) {
        reached.attempts.push_back({endpoint, true, address_of(node), "eth0", ""});
      }
      connection.send(reached);
    } else if (std::holds_alternative<ClaimCores>(message)) {
      connection.send(CoresClaimed{});
    } else if (const auto* start = std::get_if<Start>(&message)) {
      nodes_[node].connection = &connection;
      for (const RankSpec& spec : start->ranks) {
        nodes_[node].ranks.push_back(spec.rank);
        connection.send(Started{spec.rank, 1000 + spec.rank});
      }
    } else if (std::holds_alternative<Heartbeat>(message)) {
      connection.send(message);
    } else if (std::holds_alternative<Finish>(message)) {
      connection.send(Finished{});
      return false;
    }
    return true;
  }

  awaitable<void> obey() {
    for (const auto phase : {&Agents::report, &Agents::print, &Agents::end}) {
      char order = 0;
      co_await asio::async_read(orders_, asio::buffer(&order, 1), asio::use_awaitable);
      co_await wait_for_tree();
      for (auto& [number, node] : nodes_) (this->*phase)(node);
    }
  }

  awaitable<void> wait_for_tree() {
    const auto width = static_cast<std::size_t>(size_.width);
    asio::steady_timer pause(context_);
    while (width > 0 && tree_.moved() + width < size_.nodes) {
      pause.expires_after(std::chrono::milliseconds(10));
      co_await pause.async_wait(asio::use_awaitable);
    }
  }

  // All wait in one collective, which goes on from round to round, and one rank is behind.
  void report(Node& node) {
    const auto world = static_cast<std::uint32_t>(size_.nodes * size_.ranks_per_node);
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      RankStates states;
      for (const std::uint32_t rank : node.ranks) {
        const std::uint64_t begun = rank == 7 ? round : round + 1;
        const CommState comm{42, rank, world, begun, 1, round, round << 20, 30, 10};
        const WireState wire{address_of((rank / size_.ranks_per_node + 1) % size_.nodes), 1 << 20,
                             10'000};
        states.ranks.push_back({rank, 1000 + rank, Activity::kSleeps, {comm}, {wire}});
      }
      node.connection->send(states);
    }
    testing_support::print(*node.connection, node.ranks.front(), Stream::kStdout, "reported\n");
  }

  void print(Node& node) {
    for (int line = 0; line < kLines; ++line) {
      for (const std::uint32_t rank : node.ranks) {
        testing_support::print(*node.connection, rank, Stream::kStdout,
                               "step " + std::to_string(line) + ": loss 0.6931\n");
      }
    }
  }

  void end(Node& node) {
    for (const std::uint32_t rank : node.ranks) exit_with(*node.connection, rank, 0);
  }

  Size size_;
  asio::io_context context_;
  TaskGroup tasks_;
  asio::posix::stream_descriptor orders_;
  FakeTree tree_;
  std::map<std::size_t, Node> nodes_;
};

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The launcher's side: takes the time at each phase's end.
class Launcher {
 public:
  Launcher(Size size, std::vector<Fd> sockets, Fd orders)
      : size_(size), sockets_(std::move(sockets)), orders_(std::move(orders)) {}

  int run() {
    Request request;
    request.programs[0].command = {"prog", "arg"};
    request.programs[0].working_directory = "/";
    for (std::size_t node = 0; node < size_.nodes; ++node) {
      request.hosts.emplace_back().name = "n" + std::to_string(node);
    }
    request.placement.ranks_per_node = static_cast<int>(size_.ranks_per_node);
    SessionOptions options;
    options.job_id = "0123456789abcdef";
    options.streams.console.label = LineLabel::parse("[%r] ");
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    options.input = options.output = null.get();
    options.start_agent = [this](asio::io_context& context,
                                 Host host) -> awaitable<std::unique_ptr<AgentStream>> {
      Fd& socket = sockets_[std::stoul(host.name.substr(1))];
      co_return std::make_unique<FakeStream>(make_fd_stream(context, std::move(socket)));
    };
    options.tree = size_.width;
    options.find_agent = [](asio::io_context&, Host host, std::string, Resume,
                            std::chrono::steady_clock::time_point) -> awaitable<Rejoined> {
      throw Error(Exit::kUnreachable, host.name + ": cannot connect", "this is a test");
      co_return Rejoined{};
    };
    options.hooks.state = [this](JobState state) { came_into(state); };
    options.hooks.started = [this] { ended("start", 'r'); };
    options.hooks.output = [this](const Output& output) { count(output); };
    last_ = cpu_seconds();
    const SessionResult result = run_session(request, options);
    ended("leave", 0);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"nodes\": %zu, \"ranks\": %zu, \"rss_kib\": %ld", size_.nodes,
                size_.nodes * size_.ranks_per_node, usage.ru_maxrss);
    for (const auto& [phase, seconds] : phases_) std::printf(", \"%s\": %.4f", phase, seconds);
    std::printf("}\n");
    return result.job.outcome->exit_status;
  }

 private:
  void came_into(JobState state) {
    if (state == JobState::kPreflight) ended("hello", 0);
    if (state == JobState::kPlanning) ended("preflight", 0);
    if (state == JobState::kRunning) ended("plan", 0);
    if (state == JobState::kDone) ended("finish", 0);
  }

  void count(const Output& output) {
    ++outputs_;
    if (outputs_ == size_.nodes) ended("watch", 'p');
    lines_ += static_cast<std::size_t>(std::count(output.bytes.begin(), output.bytes.end(), '\n'));
    const std::size_t all = size_.nodes + kLines * size_.nodes * size_.ranks_per_node;
    if (lines_ == all) ended("print", 'e');
  }

  void ended(const char* phase, char order) {
    const double now = cpu_seconds();
    phases_.emplace_back(phase, now - last_);
    last_ = now;
    if (order != 0) write_all(orders_.get(), std::string(1, order));
  }

  Size size_;
  std::vector<Fd> sockets_;
  Fd orders_;
  std::vector<std::pair<const char*, double>> phases_;
  double last_ = 0;
  std::size_t outputs_ = 0, lines_ = 0;
};

int run(Size size) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::size_t needed = 2 * kOwnDescriptors + kHostDescriptors * size.nodes;
  if (descriptor_limit() < needed) {
    std::fprintf(stderr, "skipped: %zu descriptors are needed, and ulimit -Hn says %u\n", needed,
                 descriptor_limit());
    return 77;
  }
  raise_descriptor_limit();
  std::vector<Fd> ours, theirs;
  for (std::size_t node = 0; node < size.nodes; ++node) {
    SocketPair pair = make_socketpair(SOCK_STREAM);
    ours.push_back(std::move(pair.first));
    theirs.push_back(std::move(pair.second));
  }
  Pipe orders = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) return 71;
  if (child == 0) {
    ours.clear();
    orders.write_end.reset();
    Agents(size, std::move(theirs), std::move(orders.read_end)).run();
    std::_Exit(0);
  }
  theirs.clear();
  const int status = Launcher(size, std::move(ours), std::move(orders.write_end)).run();
  ::waitpid(child, nullptr, 0);
  return status;
}

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 64;
  return dtl::run({std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10),
                   argc == 4 ? std::atoi(argv[3]) : 0});
}
