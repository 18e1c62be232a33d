// A rank that does not read its replies is not read from either, so that memory stays bounded. The
// kernel says which process wrote (SO_PASSCRED): a rank's children inherit the connection, and must
// not be taken for the rank.
#include "agent/mpi/pmi_links.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "agent/node/unserved_mpi.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/machine/process_id.h"

namespace dtl {
namespace {

constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::size_t kMostUnsent = 64 << 10;
// How often to look whether a rank runs an MPI by itself: soon, as scripts may be short, then ever
// more rarely, as a look takes 2 ms. The ranks of a program are alike: some stand for all.
constexpr auto kFirstLook = 50ms;
constexpr auto kLongestLook = 60s;
constexpr int kWatchedRanks = 8;
constexpr std::size_t kMostProcesses = 32;  // of a rank: a shell may have started the program

awaitable<void> wait_for(asio::posix::stream_descriptor& socket,
                         asio::posix::descriptor_base::wait_type what) {
  boost::system::error_code error;
  co_await socket.async_wait(what, asio::redirect_error(asio::use_awaitable, error));
}

struct Piece {
  ssize_t size = 0;   // as recvmsg(2) returns it
  pid_t process = 0;  // that wrote it; the kernel does not merge what several have written
};

Piece receive(int socket, char* buffer) {
  iovec into{buffer, kReadBytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Piece piece;
  piece.size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* attached = piece.size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (attached == nullptr || attached->cmsg_type != SCM_CREDENTIALS) return piece;
  ucred writer{};
  std::memcpy(&writer, CMSG_DATA(attached), sizeof writer);
  piece.process = writer.pid;
  return piece;
}

// The process and its descendants.
std::vector<pid_t> family_of(pid_t process) {
  std::vector<pid_t> family = {process};
  for (std::size_t i = 0; i < family.size() && family.size() < kMostProcesses; ++i) {
    const std::vector<pid_t> children = children_of(family[i]);
    family.insert(family.end(), children.begin(), children.end());
  }
  return family;
}

bool runs(pid_t process) {
  return process_state(process) != ProcessState::kGone;
}

}  // namespace

PmiLinks::PmiLinks(asio::io_context& context, TaskGroup& tasks, Connection& connection)
    : context_(context), tasks_(tasks), connection_(connection) {}

void PmiLinks::take(ServePmi job) {
  server_.emplace(std::move(job), runs);
}

Fd PmiLinks::open(std::uint32_t rank) {
  if (!server_ || !server_->serves(rank)) return {};
  SocketPair pair = make_socketpair(SOCK_STREAM);
  const int on = 1;
  if (::setsockopt(pair.first.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    throw system_error("cannot open a rank's connection for PMI");
  }
  set_nonblocking(pair.first.get());
  const auto [at, is_new] =
      links_.try_emplace(rank, asio::posix::stream_descriptor(context_, pair.first.release()));
  if (is_new) tasks_.spawn(read(rank, at->second));
  return std::move(pair.second);
}

void PmiLinks::started(std::uint32_t rank, pid_t process) {
  if (!links_.contains(rank) || watched_ == kWatchedRanks) return;
  ++watched_;
  tasks_.spawn(watch(rank, process));
}

awaitable<void> PmiLinks::watch(std::uint32_t rank, pid_t process) {
  asio::steady_timer timer(context_);
  for (std::chrono::milliseconds pause = kFirstLook;;
       pause = std::min<std::chrono::milliseconds>(2 * pause, kLongestLook)) {
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
    if (server_->phase(rank) != PmiPhase::kUnused || server_->has_ended(rank)) co_return;
    for (const pid_t each : family_of(process)) {
      const auto library = unserved_mpi(each);
      if (!library || !is_offered_pmi(each)) continue;
      connection_.send(MpiNews{rank, MpiEvent::kAlone, 0, "Open MPI (" + *library + ")"});
      co_return;
    }
  }
}

awaitable<void> PmiLinks::read(std::uint32_t rank, Link& link) {
  while (!link.is_over) {
    co_await wait_for(link.socket, asio::posix::descriptor_base::wait_read);
    take(rank, link);
    while (link.unsent.size() > kMostUnsent && !link.is_over) {
      co_await wait_for(link.socket, asio::posix::descriptor_base::wait_write);
      // The task that writes may not have had its turn yet.
      co_await asio::post(asio::use_awaitable);
    }
  }
}

// Handles what has come, until the rank has to be waited for.
void PmiLinks::take(std::uint32_t rank, Link& link) {
  char buffer[kReadBytes];
  while (!link.is_over && link.unsent.size() <= kMostUnsent) {
    const Piece piece = receive(link.socket.native_handle(), buffer);
    if (piece.size < 0 && errno == EINTR) continue;
    if (piece.size < 0 && errno == EAGAIN) return;
    if (piece.size <= 0) {
      link.is_over = true;  // every process of the rank has closed it
      return;
    }
    perform(server_->received(rank, piece.process, {buffer, static_cast<std::size_t>(piece.size)}));
  }
}

// Sends what fits; false if some is left.
bool PmiLinks::send(Link& link) {
  while (!link.unsent.empty()) {
    const ssize_t n = ::send(link.socket.native_handle(), link.unsent.data(), link.unsent.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      link.unsent.erase(0, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      link.is_over = true;  // nobody reads it
      link.unsent.clear();
    }
  }
  return true;
}

void PmiLinks::reply(Link& link, const std::string& text) {
  link.unsent += text;
  if (link.writing || send(link)) return;
  link.writing = true;
  tasks_.spawn(write(link));
}

awaitable<void> PmiLinks::write(Link& link) {
  while (!send(link)) co_await wait_for(link.socket, asio::posix::descriptor_base::wait_write);
  link.writing = false;
}

void PmiLinks::take(PmiFenced part) {
  if (server_) perform(server_->fenced(std::move(part)));
}

void PmiLinks::ended(const GuardReport& report) {
  const auto at = links_.find(report.rank);
  if (at == links_.end()) return;
  take(report.rank, at->second);
  const bool orderly = report.code == 0 && report.signal == 0;
  perform(server_->ended(report.rank, orderly));
}

void PmiLinks::perform(std::vector<pmi::Effect> effects) {
  for (pmi::Effect& effect : effects) {
    const Overloaded carry_out{
        [&](const pmi::Reply& answer) {
          const auto at = links_.find(answer.rank);
          if (at != links_.end()) reply(at->second, answer.text);
        },
        [&](pmi::Fence& fence) {
          for (PmiFence& part : fence.parts) connection_.send(std::move(part));
        },
        [&](pmi::News& news) { connection_.send(std::move(news.news)); },
        [&](const pmi::Say& say) {
          connection_.send(Notice{"rank " + std::to_string(say.rank) + ": " + say.text});
        }};
    std::visit(carry_out, effect);
  }
}

}  // namespace dtl
