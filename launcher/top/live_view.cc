#include "launcher/top/live_view.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/top/top_json.h"
#include "launcher/top/top_text.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

constexpr int kLooksWithoutJob = 2;  // before it counts as over: hosts do not report at once

std::string utc_now() {
  return utc_text(std::time(nullptr));
}

}  // namespace

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[16];
  if (::localtime_r(&now, &parts) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &parts)};
}

LiveView::LiveView(LiveWish wish, StartOptions start)
    : wish_(std::move(wish)),
      start_(std::move(start)),
      began_(std::chrono::steady_clock::now()),
      model_(wish_.job_id),
      screen_(STDOUT_FILENO, STDIN_FILENO) {}

JobTime LiveView::now() const {
  return std::chrono::duration_cast<JobTime>(std::chrono::steady_clock::now() - began_);
}

void LiveView::run(const std::vector<Host>& hosts) {
  run_tasks(context_, [&](TaskGroup& tasks) {
    const bool once = wish_.show == LiveWish::Show::kOnce;
    WatchedHosts::Events events;
    events.frame = [this](std::size_t host, const std::string& text) { take(host, text); };
    events.lost = [this](std::size_t host, const Error& error, auto next) {
      lose(host, error, next);
    };
    watched_.emplace(context_, tasks, start_, WatchedHosts::Wish{wish_.job_id, wish_.period, !once},
                     std::move(events));
    for (const Host& host : hosts) add(host);
    if (!once) tasks.spawn(keep_showing());
    if (wish_.show != LiveWish::Show::kTerminal) return;
    tasks.spawn(hear_signals());
    if (::isatty(STDIN_FILENO) != 0) tasks.spawn(read_keys());
  });
  screen_.leave();
}

void LiveView::add(const Host& host) {
  if (!names_.insert(host.name).second) return;
  const std::size_t number = model_.add_host(host.name);
  hosts_.push_back(host);
  unreachable_.push_back({host.name, {}});
  watched_->add(number, host);
}

void LiveView::take(std::size_t number, const std::string& text) {
  if (ended_) return;
  auto frame = parse_host_frame(text);
  if (!frame) {
    throw Error(Exit::kVersion, "cannot watch its jobs", "its dtagent sends something else");
  }
  unreachable_[number].error.clear();
  if (wish_.follow_launchers && is_local(hosts_[number])) follow_launchers(hosts_[number], *frame);
  model_.take(number, std::move(*frame), now());
  if (wish_.show == LiveWish::Show::kOnce) answer_once();
}

void LiveView::lose(std::size_t number, const Error& error,
                    std::optional<std::chrono::milliseconds> next) {
  if (ended_) return;
  const std::optional<JobTime> next_try = next ? std::optional(now() + *next) : std::nullopt;
  std::string reason = error.attempted();
  if (reason.starts_with(hosts_[number].name + ": ")) {
    reason.erase(0, hosts_[number].name.size() + 2);
  }
  if (!error.reason().empty()) reason += ": " + error.reason();
  model_.lose(number, printable(reason), next_try);
  const bool is_new = unreachable_[number].error.empty();
  unreachable_[number].error = error.what();
  if (wish_.show != LiveWish::Show::kTerminal && is_new) log_error(error.what());
  if (wish_.show != LiveWish::Show::kOnce) return;
  if (status_ == 0) status_ = static_cast<int>(error.status());
  answer_once();
}

// The launchers of this machine say where their jobs run.
void LiveView::follow_launchers(const Host& from, const HostFrame& frame) {
  std::vector<Host> named;
  for (const FrameLauncher& launcher : frame.launchers) {
    for (const std::string& name : split(launcher.hosts, ',')) {
      const bool is_here = is_loopback_name(name) || name == own_host_name();
      if (name.empty() || name == "-" || is_here || name == from.name) continue;
      Host host;
      host.name = name;
      named.push_back(std::move(host));
    }
  }
  for (const Host& host : named) add(host);
}

// Rates need two frames of each host, and so does a wait.
void LiveView::answer_once() {
  constexpr JobTime kNever{-1};
  if (!first_look_ && model_.has_heard(1, kNever)) {
    model_.look(now());
    first_look_ = now();
  }
  if (!first_look_ || !model_.has_heard(2, *first_look_)) return;
  model_.look(now());
  const TopView view = model_.view(now());
  if (wish_.json) {
    std::vector<Unreachable> lost = unreachable_;
    std::erase_if(lost, [](const Unreachable& each) { return each.error.empty(); });
    write_all(STDOUT_FILENO, top_json(view, utc_now(), lost));
  } else if (model_.is_watching()) {
    TopPage page;
    page.columns = wish_.columns;
    page.color = wish_.color;
    page.time = time_of_day();
    write_all(STDOUT_FILENO, top_text(view, page));
  }
  end(status_);
}

void LiveView::end(int status) {
  ended_ = true;
  status_ = status;
  context_.stop();
}

void LiveView::draw() {
  screen_.enter();
  const ScreenSize size = screen_.size();
  TopPage page;
  page.columns = size.columns;
  page.rows = size.rows;
  page.color = wish_.color;
  page.time = time_of_day();
  screen_.show(top_text(model_.view(now()), page));
}

void LiveView::print_line() {
  std::vector<Unreachable> lost = unreachable_;
  std::erase_if(lost, [](const Unreachable& each) { return each.error.empty(); });
  write_all(STDOUT_FILENO, top_json_line(model_.view(now()), utc_now(), lost));
}

void LiveView::note_end_of_job() {
  if (wish_.job_id.empty() || !model_.is_watching()) return;
  looks_without_job_ = model_.has_jobs() ? 0 : looks_without_job_ + 1;
  if (looks_without_job_ == 0) last_view_ = model_.view(now());
  if (looks_without_job_ < kLooksWithoutJob) return;
  job_is_over_ = true;
  end(0);
}

awaitable<void> LiveView::keep_showing() {
  const bool lines = wish_.show == LiveWish::Show::kLines;
  asio::steady_timer timer(context_);
  // A line has numbers; a page shows at least to which hosts this connects.
  if (!lines) draw();
  for (auto next = std::chrono::steady_clock::now();;) {
    next = std::max(next + wish_.period, std::chrono::steady_clock::now());
    timer.expires_at(next);
    co_await timer.async_wait(asio::use_awaitable);
    model_.look(now());
    if (lines) print_line();
    if (!lines) draw();
    note_end_of_job();
  }
}

awaitable<void> LiveView::read_keys() {
  constexpr std::chrono::seconds kBackground{1};
  // A copy, as the stream_descriptor closes what it has. It only waits: its reads would make the
  // terminal non-blocking for everybody.
  asio::posix::stream_descriptor keys(context_, ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  asio::steady_timer timer(context_);
  for (;;) {
    co_await keys.async_wait(asio::posix::descriptor_base::wait_read, asio::use_awaitable);
    if (!screen_.entered()) {  // the keys are somebody else's
      timer.expires_after(kBackground);
      co_await timer.async_wait(asio::use_awaitable);
      continue;
    }
    char typed[64];
    const ssize_t size = ::read(keys.native_handle(), typed, sizeof typed);
    if (size <= 0) co_return;
    const std::string_view text(typed, static_cast<std::size_t>(size));
    if (text.find_first_of("qQ") != text.npos) end(0);
  }
}

awaitable<void> LiveView::hear_signals() {
  asio::signal_set signals(context_, SIGINT, SIGTERM, SIGHUP);
  signals.add(SIGWINCH);
  signals.add(SIGTSTP);
  signals.add(SIGCONT);
  for (;;) {
    switch (const int number = co_await signals.async_wait(asio::use_awaitable)) {
      case SIGTSTP:  // ^Z
        screen_.leave();
        ::raise(SIGSTOP);
        break;
      case SIGCONT:
        screen_.leave();  // the shell has used the terminal
        watched_->excuse();
        model_.excuse(now());
        draw();
        break;
      case SIGWINCH:
        draw();
        break;
      case SIGINT:  // the usual way to end it
        end(0);
        break;
      default:
        end(128 + number);
    }
  }
}

}  // namespace dtl
