#pragma once
// GuardLink: the agent's end of the socket to dtguard. Requests are queued and never wait; reports
// arrive in order. One io_context thread. It knows nothing about ranks. agent/job/guard_watch.h
// watches the guard's process and counts how long the guard is silent.

#include <array>
#include <deque>
#include <functional>
#include <optional>

#include "agent/guard/guard_protocol.h"
#include "base/fd.h"
#include "wire/asio.h"

namespace dtl {

// Starts dtguard from own_folder, then sets the agent's own limits. Throws Error(kOs).
struct StartedGuard {
  Fd link;  // our end; its end of file means that the guard is gone
  pid_t process = 0;
};
StartedGuard start_guard(const std::string& own_folder);

using SpawnFiles = std::array<Fd, kSpawnFds>;  // by SpawnDescriptor; each request owns its own

// Called when the link has room for the request, so at most one rank's files are open at a time.
// nullopt drops the request; the callee has reported why. Throws nothing.
using OpenSpawnFiles = std::function<std::optional<SpawnFiles>()>;

class GuardLink {
 public:
  explicit GuardLink(asio::io_context& context);

  void open(Fd link);  // once; requests queued earlier wait for run_writer()
  bool is_open() const { return link_.is_open(); }
  void close();  // the guard notices and exits

  // Requests, as guard_protocol.h describes them; allowed before open(). Reports answer tick() and
  // kill(); for the others the guard only reports what happens to a rank.
  void spawn(std::uint32_t rank, OpenSpawnFiles open);
  void signal_ranks(int signal);
  void pass_signal(int signal);
  void kill();
  void tick();
  void wait_for_agent();

  awaitable<std::optional<GuardReport>> receive();  // nullopt: the guard is gone
  awaitable<void> run_writer();

 private:
  struct Queued {
    GuardRequest request;
    OpenSpawnFiles open;  // empty once called
    std::optional<SpawnFiles> files;
  };
  void push(GuardRequest request, OpenSpawnFiles open = nullptr);
  bool open_front();
  bool send_front();

  asio::posix::stream_descriptor link_;
  std::deque<Queued> queue_;
  asio::steady_timer wake_;  // never expires; cancelled when the queue is no longer empty
  bool gone_ = false;
};

}  // namespace dtl
