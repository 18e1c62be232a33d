// Reads the socket itself, not through a Connection: what dtpmix wrote before a rank ended must be
// handled before the end of that rank, although both come over different descriptors.
#include "agent/mpi/pmix_link.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/process_id.h"
#include "base/text.h"

namespace dtl {
namespace {

// dtpmix takes 0.1 s. The launcher waits as long as it hears the agent.
constexpr auto kPmixPatience = 10s;
constexpr auto kMomentToEnd = 100ms;  // between the end of its connection and its own
constexpr std::size_t kPieceBytes = 64 << 10;
constexpr int kPiecesAtOnce = 16;                 // more than a socket holds
constexpr std::size_t kMostToLauncher = 4 << 20;  // then dtpmix is not read from
constexpr std::size_t kMostToDtpmix = 32 << 20;   // then it is stuck
constexpr std::size_t kMostPrinted = 4 << 10;
// Open MPI 4 takes a rank for a single process unless it finds the address of a daemon of its own.
// It reads the name in front, and never calls the address.
constexpr std::string_view kDaemonVariable = "OMPI_MCA_orte_local_daemon_uri=";
constexpr std::string_view kDaemon = "OMPI_MCA_orte_local_daemon_uri=0.0;tcp://127.0.0.1:0";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool has_variable(const std::vector<std::string_view>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](std::string_view each) { return name_of(each) == name; });
}

}  // namespace

PmixLink::PmixLink(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                   Listeners listeners)
    : context_(context),
      tasks_(tasks),
      connection_(connection),
      listeners_(std::move(listeners)),
      link_(context),
      output_(context),
      patience_(context) {}

void PmixLink::serve(const ServePmix& job, const PmixHome& home,
                     const std::string& open_mpi_prefix) {
  if (state_ != State::kUnused) throw Error(Exit::kVersion, "unexpected message", "ServePmix");
  state_ = State::kStarting;
  optional_ = home.optional;
  if (!open_mpi_prefix.empty()) prefix_variable_ = "OPAL_PREFIX=" + open_mpi_prefix;
  expected_ = static_cast<std::size_t>(
      std::count_if(job.places.begin(), job.places.end(),
                    [&](const PmixPlace& place) { return place.node == job.node; }));
  try {
    process_.emplace(home);
    Fd link = process_->take_link(), output = process_->take_output();
    set_nonblocking(link.get());
    set_nonblocking(output.get());
    link_.assign(link.release());
    output_.assign(output.release());
  } catch (const Error& error) {
    return lose(error.what());
  }
  tasks_.spawn(read());
  tasks_.spawn(read_output());
  tasks_.spawn(limit_start());
  send(job);
}

awaitable<void> PmixLink::limit_start() {
  patience_.expires_after(kPmixPatience);
  boost::system::error_code cancelled;
  co_await patience_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (state_ != State::kStarting) co_return;
  take_output();
  const auto seconds = std::chrono::seconds(kPmixPatience).count();
  lose(with_last_line(fmt::format("dtpmix was not ready within {} s", seconds)));
}

awaitable<void> PmixLink::read() {
  while (state_ != State::kClosed) {
    boost::system::error_code error;
    co_await link_.async_wait(asio::posix::descriptor_base::wait_read,
                              asio::redirect_error(asio::use_awaitable, error));
    take();
    // A slow launcher delays dtpmix, and memory does not grow.
    co_await connection_.wait_below(kMostToLauncher);
  }
}

// Handles what has come.
void PmixLink::take() {
  for (int i = 0; i < kPiecesAtOnce && state_ != State::kClosed; ++i) {
    std::string piece(kPieceBytes, '\0');
    const ssize_t n = ::recv(link_.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      const std::string ending = process_->await_end(kMomentToEnd);
      take_output();
      return lose(
          with_last_line("dtpmix " + (ending.empty() ? "has closed its connection" : ending)));
    }
    piece.resize(static_cast<std::size_t>(n));
    try {
      reader_.feed(std::move(piece));
      while (state_ != State::kClosed) {
        std::optional<Message> message = reader_.next();
        if (!message) break;
        handle(std::move(*message));
      }
    } catch (const Error& error) {
      return lose(std::string("dtpmix sent garbage: ") + error.what());
    }
  }
}

void PmixLink::handle(Message message) {
  const Overloaded act{
      [&](PmixReady& ready) { note_ready(std::move(ready)); },
      [&](OneOf<PmixFence, PmixWanted, PmixGiven, MpiNews, Notice> auto& news) {
        connection_.send(std::move(news));
      },
      [&](const Trouble& trouble) {
        lose(trouble.text.starts_with("dtpmix") ? trouble.text : "dtpmix: " + trouble.text);
      },
      [&](const auto&) {
        lose(fmt::format("dtpmix sent an unexpected {}", message_name(message)));
      }};
  std::visit(act, message);
}

void PmixLink::note_ready(PmixReady ready) {
  variables_[ready.rank] = std::move(ready.variables);
  if (state_ != State::kStarting || variables_.size() < expected_) return;
  state_ = State::kServing;
  patience_.cancel();
  listeners_.ready();
}

// Where the rank's environment has the name, dtpmix's address wins, and parameters that the user
// has set for the PMIx library.
void PmixLink::add_variables(std::uint32_t rank, std::vector<std::string_view>& environment) const {
  const auto at = variables_.find(rank);
  if (at == variables_.end()) return;
  for (const std::string& variable : at->second) {
    const std::string_view name = name_of(variable);
    if (name.starts_with("PMIX_MCA_") && has_variable(environment, name)) continue;
    std::erase_if(environment, [&](std::string_view each) { return name_of(each) == name; });
    environment.push_back(variable);
  }
  if (!has_variable(environment, name_of(kDaemonVariable))) environment.push_back(kDaemon);
  if (!prefix_variable_.empty() && !has_variable(environment, name_of(prefix_variable_))) {
    environment.push_back(prefix_variable_);
  }
}

void PmixLink::send(Message message) {
  if (state_ != State::kStarting && state_ != State::kServing) return;
  const Frame frame = encode_frame(std::move(message), sequence_++);
  unsent_.push_back(frame.head + frame.tail);
  unsent_bytes_ += unsent_.back().size();
  if (unsent_bytes_ > kMostToDtpmix) return lose("dtpmix does not read what it is sent");
  if (writing_ || write_some()) return;
  writing_ = true;
  tasks_.spawn(write());
}

// False if some is left.
bool PmixLink::write_some() {
  while (!unsent_.empty()) {
    const std::string& first = unsent_.front();
    const ssize_t n = ::send(link_.native_handle(), first.data() + sent_of_first_,
                             first.size() - sent_of_first_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return true;  // it is gone: take() finds out
    sent_of_first_ += static_cast<std::size_t>(n);
    if (sent_of_first_ < first.size()) continue;
    unsent_bytes_ -= first.size();
    sent_of_first_ = 0;
    unsent_.pop_front();
  }
  return true;
}

awaitable<void> PmixLink::write() {
  while (state_ != State::kClosed && !write_some()) {
    boost::system::error_code error;
    co_await link_.async_wait(asio::posix::descriptor_base::wait_write,
                              asio::redirect_error(asio::use_awaitable, error));
  }
  writing_ = false;
}

awaitable<void> PmixLink::read_output() {
  while (output_.is_open()) {
    boost::system::error_code error;
    co_await output_.async_wait(asio::posix::descriptor_base::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    take_output();
  }
}

void PmixLink::take_output() {
  while (output_.is_open()) {
    char buffer[1024];
    const ssize_t n = ::read(output_.native_handle(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      boost::system::error_code ignored;
      output_.close(ignored);
      return;
    }
    printed_.append(buffer, static_cast<std::size_t>(n));
    if (printed_.size() > kMostPrinted) printed_.erase(0, printed_.size() - kMostPrinted);
  }
}

std::string PmixLink::with_last_line(std::string text) {
  const std::vector<std::string> lines = split(trim(printed_), '\n');
  if (!lines.empty() && !lines.back().empty()) text += ": " + printable(lines.back());
  return text;
}

// Its ranks would wait for it forever. Counts ticks, not time, as GuardWatch does.
void PmixLink::tick() {
  const bool stopped =
      state_ == State::kServing && process_state(process_->pid()) == ProcessState::kStopped;
  stopped_ticks_ = stopped ? stopped_ticks_ + 1 : 0;
  if (stopped_ticks_ < kGuardSilence / kHeartbeat) return;
  lose(fmt::format("dtpmix (process {}) is stopped (state T)", process_->pid()));
}

void PmixLink::ended(const GuardReport& report) {
  if (state_ != State::kServing) return;
  take();
  send(Exited{report.rank, report.code, report.signal, report.max_rss_kib, report.left_behind});
}

void PmixLink::lose(const std::string& why) {
  if (state_ == State::kClosed) return;
  const bool was_starting = state_ == State::kStarting;
  close();
  if (process_) process_->kill();  // it may be stuck
  if (!optional_) return listeners_.lost(why);
  // A rank that has connected to it ends by itself.
  connection_.send(Notice{why + ". Programs of Open MPI cannot start here"});
  variables_.clear();
  if (was_starting) listeners_.ready();
}

void PmixLink::close() {
  if (state_ == State::kUnused) return;
  state_ = State::kClosed;
  patience_.cancel();
  boost::system::error_code ignored;
  link_.close(ignored);
}

void PmixLink::end() {
  close();
  process_.reset();
}

}  // namespace dtl
