// One poll(2) waits for the stop event and for each starter's pidfd, standard error and output.
#include "launcher/step/starter_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kProgress = 10s;  // between two lines about a wait

}  // namespace

StarterWatch::StarterWatch(std::string program, std::vector<Child> starters, Ended ended,
                           std::function<std::string()> missing)
    : program_(std::move(program)),
      ended_(std::move(ended)),
      missing_(std::move(missing)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      running_(starters.size()) {
  if (!stop_.valid()) throw system_error("cannot make an eventfd");
  for (Child& child : starters) {
    // Reads must not block the thread, even if poll() reports a descriptor that has no data.
    set_nonblocking(child.standard_error.get());
    set_nonblocking(child.socket.get());
    starters_.emplace_back().child = std::move(child);
  }
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // other threads handle signals
  thread_ = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StarterWatch::~StarterWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

const StarterWatch::Starter& StarterWatch::of_place(std::size_t place) const {
  // A single starter serves all places.
  return starters_.size() == 1 ? starters_[0] : starters_[place];
}

std::string StarterWatch::ending(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  return of_place(place).ending;
}

std::string StarterWatch::words(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  return of_place(place).tail.text();
}

bool StarterWatch::wait_for_end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return gone_.wait_for(lock, patience, [this] { return running_ == 0; });
}

void StarterWatch::signal(int number) {
  const std::lock_guard lock(mutex_);
  for (const Starter& each : starters_) each.child.signal(number);
}

std::string StarterWatch::last_said() const {
  const std::lock_guard lock(mutex_);
  for (const Starter& each : starters_) {
    if (std::string said = last_line(each.tail.text()); !said.empty()) return said;
  }
  return {};
}

void StarterWatch::watch() {
  const Clock::time_point began = Clock::now();
  Clock::time_point next_line = began + kProgress;
  // Until all nodes have arrived once; the room reports nodes that are lost later.
  bool waits = true;
  while (!stopping_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_line - Clock::now());
    poll_once(waits ? static_cast<int>(std::max<std::int64_t>(left.count(), 0)) : -1);
    if (!waits || Clock::now() < next_line) continue;
    next_line += kProgress;
    const std::string missing = missing_();
    waits = !missing.empty();
    if (!waits) continue;
    const std::string said = last_said();
    log_notice(fmt::format("waiting for {} to bring dtlaunch to {} since {} s{}", program_, missing,
                           (Clock::now() - began) / 1s,
                           said.empty() ? "" : fmt::format("; it says \"{}\"", said)));
  }
}

void StarterWatch::poll_once(int timeout_ms) {
  std::vector<pollfd> each = {{stop_.get(), POLLIN, 0}};
  for (const Starter& starter : starters_) {
    // poll() ignores a negative descriptor, so the indexes in `each` stay the same.
    const bool runs = starter.ending.empty();  // only this thread writes it
    each.push_back({runs ? starter.child.process.get() : -1, POLLIN, 0});
    each.push_back({runs && starter.talks ? starter.child.standard_error.get() : -1, POLLIN, 0});
    each.push_back({runs && starter.prints ? starter.child.socket.get() : -1, POLLIN, 0});
  }
  ::poll(each.data(), each.size(), timeout_ms);
  stopping_ = each[0].revents != 0;
  for (std::size_t at = 0; at < starters_.size() && !stopping_; ++at) {
    Starter& starter = starters_[at];
    const pollfd *process = &each[1 + 3 * at], *error = process + 1, *output = process + 2;
    // Output first, because it has the reason for the end.
    if (error->revents != 0) starter.talks = read_words(starter, error->fd);
    if (output->revents != 0) starter.prints = read_words(starter, output->fd);
    if (process->revents != 0) note_end(at);
  }
}

void StarterWatch::note_end(std::size_t at) {
  Starter& starter = starters_[at];
  // The last output may still be in the pipes.
  for (const int fd : {starter.child.standard_error.get(), starter.child.socket.get()}) {
    for (pollfd more{fd, POLLIN, 0}; ::poll(&more, 1, 0) > 0 && read_words(starter, fd);) {
    }
  }
  std::string how;
  {
    const std::lock_guard lock(mutex_);  // so that nobody signals it meanwhile
    how = fmt::format("{} ended: {}", program_, starter.child.ending());
    starter.ending = how;
    --running_;
    gone_.notify_all();
  }
  // Without the lock: the callback calls ending() and words().
  ended_(how, starters_.size() == 1 ? std::nullopt : std::optional(at));
}

// False: there will be no more output.
bool StarterWatch::read_words(Starter& starter, int fd) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  const std::string_view text(bytes.data(), static_cast<std::size_t>(count));
  {
    const std::lock_guard lock(mutex_);
    starter.tail.append(text);
  }
  starter.line += text;
  std::string& line = starter.line;
  for (std::size_t end = line.find('\n'); end != line.npos; end = line.find('\n')) {
    // A starter may print anything, including control characters.
    log_verbose(printable(line.substr(0, end)));
    line.erase(0, end + 1);
  }
  return true;
}

}  // namespace dtl
