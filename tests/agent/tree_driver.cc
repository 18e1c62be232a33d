#include "tree_driver.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <stdexcept>
#include <thread>
#include <utility>

#include "agent_driver.h"
#include "base/error.h"
#include "base/machine/process_id.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "tests/support/folders.h"
#include "wire/fd_stream.h"
#include "wire/frame.h"
#include "wire/greeting.h"
#include "wire/tls/tls_stream.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

TreeDriver::TreeDriver() : tasks_(context_) {
  ::signal(SIGPIPE, SIG_IGN);
  tasks_.spawn(beat());
}

TreeDriver::~TreeDriver() {
  for (const auto& node : nodes_) {
    if (node->keeper < 0) continue;
    for (const pid_t agent : children_of(node->keeper)) ::kill(agent, SIGKILL);
    ::kill(node->keeper, SIGCONT);
    ::waitpid(node->keeper, nullptr, 0);
  }
}

TreeDriver::Node& TreeDriver::add_agent() {
  auto node = std::make_unique<Node>();
  node->number = static_cast<std::uint32_t>(nodes_.size());
  SocketPair pair = make_socketpair(SOCK_STREAM);
  const std::string dtagent = test::program_path("dtagent");
  node->keeper = ::fork();
  if (node->keeper == 0) {
    ::dup2(pair.second.get(), 0);
    ::dup2(pair.second.get(), 1);
    ::execl(dtagent.c_str(), "dtagent", "--serve", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  pair.second.reset();
  std::string received;
  std::optional<GreetingFound> greeting;
  while (!(greeting = find_greeting(received))) {
    char byte = 0;
    if (::read(pair.first.get(), &byte, 1) != 1) throw std::runtime_error("no greeting");
    received += byte;
  }
  node->connection = std::make_unique<Connection>(
      context_, make_fd_stream(context_, std::move(pair.first)), greeting->rest);
  node->link = to_hex(random_bytes(8, "test"));
  node->token = random_bytes(32, "test");
  node->branch_key = random_bytes(kTreeKeyBytes, "test");
  node->relay_key = random_bytes(kTreeKeyBytes, "test");
  Node& added = *node;
  nodes_.push_back(std::move(node));
  tasks_.spawn(write(added));
  tasks_.spawn(read(added));
  added.connection->send(Welcome{"0.1.0", "00112233aabbccdd", "testhost", "testhost"});
  if (!run_until([&] { return find<Hello>(added).has_value(); })) {
    throw std::runtime_error("no Hello");
  }
  added.connection->keep_sent();
  added.connection->send(Reconnect{added.link, added.token, 0});
  return added;
}

TreeParent TreeDriver::parent_of(std::uint32_t parent, std::uint32_t child) const {
  const Node& above = *nodes_.at(parent);
  TreeParent told;
  told.node = parent;
  told.addresses.push_back("127.0.0.1");
  told.port = above.port;
  told.key = hmac_sha256(above.relay_key, std::to_string(child));
  return told;
}

void TreeDriver::send_join(Node& node, const std::vector<std::uint32_t>& parents, bool relays) {
  JoinTree order;
  order.node = node.number;
  order.branch_key = node.branch_key;
  if (relays) order.relay_key = node.relay_key;
  for (const std::uint32_t parent : parents)
    order.parents.push_back(parent_of(parent, node.number));
  node.is_top = parents.empty();
  node.connection->send(order);
}

void TreeDriver::join(Node& node, const std::vector<std::uint32_t>& parents, bool relays) {
  send_join(node, parents, relays);
  const bool came = run_until(
      [&] { return find<TreeJoined>(node).has_value() && (node.is_top || node.resumed > 0); });
  if (!came) throw std::runtime_error(fmt::format("node {} has not joined", node.number));
}

void TreeDriver::start_script(Node& node, std::uint32_t rank, const std::string& script) {
  Start start;
  start.secret = std::string(32, 's');
  start.ranks.push_back(script_rank(rank, script));
  start.ranks.back().local_rank = 0;
  node.connection->send(start);
}

bool TreeDriver::run_until(const std::function<bool()>& done, std::chrono::milliseconds patience) {
  const auto by = Clock::now() + patience;
  while (!done()) {
    if (Clock::now() > by) return false;
    context_.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

pid_t TreeDriver::agent_of(const Node& node) const {
  return children_of(node.keeper).at(0);
}

awaitable<void> TreeDriver::read(Node& node) {
  do {
    try {
      while (auto message = co_await node.connection->receive()) take(node, std::move(*message));
    } catch (const Error& error) {
      if (error.status() == Exit::kVersion) throw;
    }
    node.ended = true;
    node.connection->detach();
  } while (co_await node.connection->wait_attached());
}

awaitable<void> TreeDriver::write(Node& node) {
  try {
    co_await node.connection->run_writer();
  } catch (const Error&) {
    // The reader sees the end, too.
  }
}

awaitable<void> TreeDriver::beat() {
  asio::steady_timer timer(context_);
  for (;;) {
    for (const auto& node : nodes_) {
      if (hung_up_ || !pulses) continue;
      if (node->branch) {
        node->connection->send_receipt();
      } else {
        node->connection->send(Heartbeat{1});
      }
      if (!node->is_top || node->ended) continue;
      std::string bytes;
      encode_parcel({}, bytes);
      node->connection->send(Relayed{bytes});
    }
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void TreeDriver::take(Node& node, Message message) {
  if (const auto* relayed = std::get_if<Relayed>(&message)) {
    node.parcels.feed(relayed->bytes);
    while (auto parcel = node.parcels.next()) take_parcel(node, std::move(*parcel));
  } else if (const auto* output = std::get_if<Output>(&message)) {
    node.outputs[output->rank] += output->bytes;
  } else if (const auto* joined = std::get_if<TreeJoined>(&message)) {
    node.port = joined->port;
    node.inbox.push_back(std::move(message));
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    node.inbox.push_back(std::move(message));
  }
}

void TreeDriver::take_parcel(Node& top, Parcel parcel) {
  if (parcel.kind == ParcelKind::kAlive) {
    for (const std::uint32_t number : decode_nodes(parcel.bytes, 65536)) {
      node(number).alive_at = Clock::now();
    }
    return;
  }
  Node& from = node(parcel.node);
  if (parcel.kind == ParcelKind::kArrived && parcel.stream > from.stream) {
    from.stream = parcel.stream;
    ++from.branches;
    if (from.branch) from.branch->end();
    const std::uint32_t number = top.number, stream = parcel.stream;
    from.branch = std::make_shared<BranchStream>(
        context_,
        [this, number, at = from.number, stream](std::string bytes) {
          return send_down(number, {ParcelKind::kBytes, at, stream, std::move(bytes)});
        },
        [this, number, at = from.number, stream] {
          tasks_.spawn(send_down(number, {ParcelKind::kLeft, at, stream, {}}));
        });
    tasks_.spawn(resume(from, from.branch));
  } else if (parcel.stream == from.stream && from.branch) {
    if (parcel.kind == ParcelKind::kBytes) from.branch->feed(std::move(parcel.bytes));
    if (parcel.kind == ParcelKind::kLeft) from.branch->end();
  }
}

awaitable<void> TreeDriver::resume(Node& node, std::shared_ptr<BranchStream> branch) {
  try {
    auto tls = std::make_unique<TlsStream>(branch, TlsSession::Side::kCalls, node.branch_key,
                                           kBranchPurpose);
    co_await tls->shake_hands();
    Resume offer = node.connection->link().offer(node.token, ++node.attempt);
    Frame frame = encode_frame(std::move(offer), 0);
    co_await tls->write(frame.head + frame.tail);
    FrameReader reader;
    std::optional<Message> answer;
    while (!answer) {
      std::string bytes = co_await tls->read();
      if (bytes.empty()) co_return;
      reader.feed(std::move(bytes));
      answer = reader.next();
    }
    const auto* resumed = std::get_if<Resumed>(&*answer);
    if (resumed == nullptr || !node.connection->link().is_answer(*resumed)) co_return;
    if (node.connection->attach(std::move(tls), reader.take_rest(), resumed->received, {})) {
      ++node.resumed;
    }
  } catch (const Error&) {
    // The branch has ended; another one comes.
  }
}

awaitable<void> TreeDriver::send_down(std::uint32_t top, Parcel parcel) {
  std::string bytes;
  encode_parcel(parcel, bytes);
  Connection& connection = *nodes_.at(top)->connection;
  connection.send(Relayed{std::move(bytes)});
  co_await connection.wait_below(1 << 20);
}

int TreeDriver::await_exit(Node& node) {
  int status = -1;
  const bool exited =
      run_until([&] { return ::waitpid(node.keeper, &status, WNOHANG) == node.keeper; });
  if (!exited) return -1;
  node.keeper = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<int> TreeDriver::finish() {
  std::vector<int> statuses;
  for (const auto& node : nodes_) node->connection->send(Finish{});
  for (const auto& node : nodes_) statuses.push_back(await_exit(*node));
  return statuses;
}

void TreeDriver::hang_up() {
  hung_up_ = true;
  for (const auto& node : nodes_) node->connection->close();
}

}  // namespace dtl
