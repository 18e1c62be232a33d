#include "agent/probe.h"

#include <utility>

#include "agent/nics.h"
#include "base/limits.h"

namespace dtl {
namespace {

using asio::ip::tcp;

std::string probe_line(const std::string& job_id) {
  return "DTLAUNCH-PROBE " + job_id + "\n";
}

// The error's own text for people, e.g. "Connection refused".
awaitable<std::string> connect_and_read(tcp::socket& socket, tcp::endpoint endpoint,
                                        std::string expected) {
  boost::system::error_code error;
  co_await socket.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return error.message();
  std::string line(expected.size(), '\0');
  co_await asio::async_read(socket, asio::buffer(line),
                            asio::redirect_error(asio::use_awaitable, error));
  if (error == asio::error::operation_aborted) co_return error.message();
  if (error || line != expected) co_return "another program answered";
  co_return std::string();
}

awaitable<void> reach_one(asio::io_context& context, Attempt& attempt, std::string job_id) {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(attempt.endpoint.address, error);
  if (error) {
    attempt.problem = "not a numeric address";
    co_return;
  }
  tcp::socket socket(context);
  bool late = false;
  asio::steady_timer deadline(context, kConnectDeadline);
  deadline.async_wait([&](boost::system::error_code cancelled) {
    if (cancelled) return;
    late = true;
    socket.close(error);
  });
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(attempt.endpoint.port));
  attempt.problem = co_await connect_and_read(socket, endpoint, probe_line(job_id));
  if (late) attempt.problem = "no answer in time";
  attempt.reached = attempt.problem.empty();
  if (attempt.reached) attempt.local_address = socket.local_endpoint(error).address().to_string();
  // The handler refers to this frame: it must have run before the frame goes.
  deadline.cancel();
  co_await asio::post(context, asio::use_awaitable);
}

}  // namespace

Listener::Listener(asio::io_context& context, std::string job_id)
    : context_(context), line_(probe_line(job_id)) {}

Listening Listener::open(TaskGroup& tasks) {
  close();
  BoundPort probe = bind_any_port();
  master_ = bind_master_port();
  acceptors_.push_back(std::make_shared<tcp::acceptor>(context_, tcp::v4(), probe.v4.release()));
  if (probe.v6.valid()) {
    acceptors_.push_back(std::make_shared<tcp::acceptor>(context_, tcp::v6(), probe.v6.release()));
  }
  for (const auto& acceptor : acceptors_) tasks.spawn(answer(acceptor));
  return {probe.port, master_.port, public_addresses(list_nics())};
}

void Listener::close() {
  boost::system::error_code ignored;
  for (const auto& acceptor : acceptors_) acceptor->close(ignored);
  acceptors_.clear();
  master_ = BoundPort{};
}

awaitable<void> Listener::answer(std::shared_ptr<tcp::acceptor> acceptor) {
  for (;;) {
    tcp::socket peer(context_);
    boost::system::error_code error;
    co_await acceptor->async_accept(peer, asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor->is_open() || error == asio::error::no_descriptors) co_return;
    // A new connection's buffer always has room for the line.
    if (!error) asio::write(peer, asio::buffer(line_), error);
  }
}

awaitable<Reached> reach_all(asio::io_context& context, std::vector<Endpoint> endpoints,
                             std::string job_id) {
  Reached reached;
  for (const Endpoint& endpoint : endpoints) {
    reached.attempts.emplace_back().endpoint = endpoint;
  }
  TaskGroup tasks(context);
  for (Attempt& attempt : reached.attempts) tasks.spawn(reach_one(context, attempt, job_id));
  co_await tasks.join();
  const std::vector<Nic> nics = list_nics();
  for (Attempt& attempt : reached.attempts) {
    attempt.local_interface = interface_of(nics, attempt.local_address);
  }
  co_return reached;
}

}  // namespace dtl
