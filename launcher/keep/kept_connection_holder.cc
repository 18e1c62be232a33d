// A launcher that dies looks the same with and without a holder: the splice ends, and so does the
// agent with its ranks.
#include "launcher/keep/kept_connection_holder.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "launcher/keep/frame_cutter.h"
#include "launcher/step/agent_step.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/fields.h"
#include "wire/frame.h"
#include "wire/user_listener.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxRequestBytes = 4096;
// A launcher sends its line at once. Other clients must not hold a descriptor forever.
constexpr auto kRequestDeadline = 2s;

// One launcher and its agent, while a job runs.
struct Splice {
  std::unique_ptr<ByteStream> launcher;
  ProcessHandle process;  // the launcher
  WaitingAgent agent;
  FrameCutter down{kMessageType<Finish>}, up{kMessageType<Finished>};
  std::string after_finished;  // the start of the agent's next greeting
};

class Holder {
 public:
  explicit Holder(HolderOptions options)
      : options_(std::move(options)),
        tasks_(context_),
        listener_(context_, [this](Fd peer) { tasks_.spawn(serve(std::move(peer))); }),
        signals_(context_, SIGTERM, SIGINT),
        idle_(context_) {
    if (options_.make_step) {
      // The step calls from its own thread.
      step_ = options_.make_step({[this] { asio::post(context_, [this] { end_jobs(); }); },
                                  [this] { asio::post(context_, [this] { lose_step(); }); }});
      options_.start.step = step_;
    }
    for (const Host& host : options_.hosts) {
      hosts_.push_back(std::make_unique<KeptHost>(context_, host, options_.start));
    }
  }

  void run() {
    socket_ = runtime_folder() + "/" + holder_socket(options_.start.kept_job);
    untried_ = hosts_.size();
    for (const auto& host : hosts_) {
      tasks_.spawn(host->maintain([this] {
        if (--untried_ == 0) all_tried();
      }));
    }
    // Nothing runs before context_.run(), so the first launcher finds maintain() of every host
    // running.
    listener_.start(listen_unix(socket_));
    signals_.async_wait([this](boost::system::error_code cancelled, int) {
      if (!cancelled) stop();
    });
    restart_idle_time();
    context_.run();
    if (step_) step_->finish(0);
  }

 private:
  void all_tried() {
    std::vector<std::optional<Error>> failures;
    for (const auto& host : hosts_) failures.push_back(host->failure());
    options_.ready(failures);
    const bool has_any =
        std::any_of(failures.begin(), failures.end(), [](const auto& failure) { return !failure; });
    // A lost ssh connection is made again; a lost step is not.
    if (!has_any || (step_ && step_is_over_)) stop();
  }

  // ---- the scheduler's news about the step

  void lose_step() {
    step_is_over_ = true;
    if (untried_ == 0) stop();  // else when the last try has failed
  }

  // The scheduler would have signalled these launchers if they had started their agents themselves.
  // Each node reports it, so only the first report counts.
  void end_jobs() {
    if (std::exchange(step_is_over_, true)) return;
    for (const auto& weak : running_) {
      const auto splice = weak.lock();
      if (!splice || !splice->process.valid()) continue;
      splice->process.signal(SIGTERM);
    }
    if (untried_ == 0) stop();
  }

  void restart_idle_time() {
    idle_.expires_after(options_.idle);
    idle_.async_wait([this](boost::system::error_code cancelled) {
      if (cancelled) return;
      // Idle: no launch and no job.
      if (splices_ == 0) {
        stop();
      } else {
        restart_idle_time();
      }
    });
  }

  void stop() {
    if (std::exchange(stopping_, true)) return;
    // The socket goes first: launchers must start their own agents from now on.
    ::unlink(socket_.c_str());
    listener_.close();
    idle_.cancel();
    boost::system::error_code ignored;  // they may have ended already
    signals_.cancel(ignored);
    for (const auto& host : hosts_) host->stop();
    leave_if_done();
  }

  void leave_if_done() {
    if (stopping_ && splices_ == 0) context_.stop();
  }

  awaitable<void> serve(Fd peer) {
    std::shared_ptr<Splice> splice = std::make_shared<Splice>();  // shared by both directions
    try {
      splice->process = peer_process(peer.get());
      splice->launcher = make_fd_stream(context_, std::move(peer));
      const std::string line = co_await read_request(*splice->launcher);
      const auto request = parse_keep_request(line);
      if (request) {
        co_await answer(*request, splice);
      } else {
        co_await splice->launcher->write(kKeepNo);
      }
    } catch (const Error&) {
      // The launcher sees the stream end and starts its own agent.
    }
    if (splice->launcher) splice->launcher->close();
  }

  awaitable<std::string> read_request(ByteStream& stream) {
    const StreamDeadline deadline(context_, stream, kRequestDeadline);
    std::string received;
    while (received.find('\n') == std::string::npos && received.size() < kMaxRequestBytes) {
      const std::string bytes = co_await stream.read();
      if (bytes.empty()) break;
      received += bytes;
    }
    co_return received.substr(0, received.find('\n'));
  }

  awaitable<void> answer(KeepRequest request, std::shared_ptr<Splice> splice) {
    if (request.what == KeepRequest::What::kDown) {
      stop_soon();
      co_await splice->launcher->write(kKeepYes);
    } else if (request.what == KeepRequest::What::kHosts) {
      co_await splice->launcher->write(kKeepYes + host_lines());
    } else {
      co_await give_agent(std::move(request), splice);
    }
  }

  // Removes the socket at once, because `dtlaunch up` makes a new one when it has the answer. The
  // process ends when the answer is sent.
  void stop_soon() {
    ::unlink(socket_.c_str());
    asio::post(context_, [this] { stop(); });
  }

  std::string host_lines() const {
    std::string text;
    for (const auto& host : hosts_) {
      text += host->host().name + (host->connected() ? " connected\n" : " not connected\n");
    }
    return text;
  }

  // nullptr: `dtlaunch up` did not name this host.
  KeptHost* find(const KeepRequest& request) {
    for (const auto& host : hosts_) {
      // Another path may be another build of the same version.
      const bool same_agent = host->options().agent_path == request.agent_path;
      if (same_agent && same_login(host->host(), request.host)) return host.get();
    }
    return nullptr;
  }

  awaitable<void> give_agent(KeepRequest request, std::shared_ptr<Splice> splice) {
    KeptHost* host = find(request);
    if (host == nullptr || !host->connected() || stopping_) {
      // Reconnect for the next launcher; this one starts its own agent.
      if (host != nullptr) host->wake();
      co_await splice->launcher->write(kKeepNo);
      co_return;
    }
    restart_idle_time();
    ++splices_;
    std::erase_if(running_, [](const auto& weak) { return weak.expired(); });
    running_.push_back(splice);
    try {
      // Sent before an agent is there: the launcher waits only 200 ms for this line, and longer for
      // a greeting.
      co_await splice->launcher->write(kKeepYes);
      splice->agent = co_await host->take_agent();
      co_await splice->launcher->write(splice->agent.greeting);
      tasks_.spawn(pass_down(splice));
      co_await pass_up(splice);
    } catch (const Error&) {
      // One side has ended.
    }
    splice->launcher->close();
    if (splice->up.done() && splice->down.done()) {
      // Both sides have ended the conversation, so the agent may serve another job. Otherwise its
      // state is unknown.
      co_await host->give_back(std::move(splice->agent.stream), std::move(splice->after_finished));
    } else if (splice->agent.stream) {
      host->end_agent(*splice->agent.stream);  // pass_down() may still hold it
    }
    host->wake();
    // Returns the memory of a burst of output to the system: this process runs for days.
    if (--splices_ == 0) ::malloc_trim(0);
    leave_if_done();
  }

  awaitable<void> pass_up(std::shared_ptr<Splice> splice) {
    while (!splice->up.done()) {
      std::string bytes = co_await splice->agent.stream->read();
      if (bytes.empty()) co_return;
      const std::size_t size = splice->up.feed(bytes);
      splice->after_finished = bytes.substr(size);
      bytes.resize(size);
      co_await splice->launcher->write(std::move(bytes));
    }
  }

  // Stops after Finish: later bytes would reach the agent's next job.
  awaitable<void> pass_down(std::shared_ptr<Splice> splice) {
    AgentStream& agent = *splice->agent.stream;
    try {
      while (!splice->down.done()) {
        std::string bytes = co_await splice->launcher->read();
        if (bytes.empty()) break;
        bytes.resize(splice->down.feed(bytes));
        co_await agent.write(std::move(bytes));
      }
    } catch (const Error&) {
      // pass_up() sees the end, too
    }
    if (!splice->down.done() && splice->agent.stream) agent.close();
  }

  HolderOptions options_;
  asio::io_context context_;
  std::shared_ptr<AgentStep> step_;  // shared with the KeptWays
  std::vector<std::unique_ptr<KeptHost>> hosts_;
  TaskGroup tasks_;
  UserListener listener_;
  asio::signal_set signals_;
  asio::steady_timer idle_;
  std::string socket_;  // the socket's path
  // Hosts whose first try has not ended; `ready` is called at 0.
  std::size_t untried_ = 0;
  // Jobs that run over the connections. The process waits for the last one before it ends.
  int splices_ = 0;
  // Jobs whose launchers get SIGTERM when the scheduler ends the step.
  std::vector<std::weak_ptr<Splice>> running_;
  bool stopping_ = false, step_is_over_ = false;
};

}  // namespace

void run_holder(HolderOptions options) {
  Holder holder(std::move(options));
  holder.run();
}

}  // namespace dtl
