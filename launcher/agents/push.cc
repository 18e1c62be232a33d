// One loop reads answers and sends files. The host asks for what it needs: nothing if it has
// suitable programs, else dtagent alone, and the rest once that dtagent runs.
#include "launcher/agents/push.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/request/command_text.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // a slow host makes progress this often

std::string own_architecture() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "?";
}

// One push to one host.
class Push {
 public:
  Push(SshStream& stream, Host host, std::shared_ptr<const Bundle> bundle, AfterPush after,
       std::function<void()> progress)
      : stream_(stream),
        host_(std::move(host)),
        bundle_(std::move(bundle)),
        after_(after),
        progress_(std::move(progress)) {}

  awaitable<Pushed> run() {
    for (;;) {
      // Several answers may have arrived in one read.
      while (const auto answer = take_push_answer(received_)) {
        if (answer->word == "there") {
          pushed_.folder = answer->rest;
          co_return pushed_;
        }
        if (answer->word == "want") {
          accept(answer->rest);
          co_await send(bundle_->files[0].bytes);
        }
        // The pushed dtagent has asked for these files, and checks them as they arrive.
        for (std::size_t i = 1; answer->word == "send" && i < bundle_->files.size(); ++i) {
          co_await send(bundle_->files[i].bytes);
        }
      }
      if (after_ == AfterPush::kServe && find_greeting(received_)) break;
      const std::string bytes = co_await stream_.read();
      if (bytes.empty() && !cache_.empty()) throw failure();
      if (bytes.empty()) break;  // nothing was asked for: the caller reports why
      received_ += bytes;
      // A greeting has its own limit, kMaxShellNoiseBytes. Twice that leaves room for the push's
      // answers.
      if (received_.size() > 2 * kMaxShellNoiseBytes) throw too_much();
      progress_();
    }
    stream_.unread(std::move(received_));
    co_return pushed_;
  }

 private:
  void accept(const std::string& request) {
    const std::size_t blank = std::min(request.find(' '), request.size());
    const std::string architecture = request.substr(0, blank);
    cache_ = trim(request.substr(blank));
    if (architecture == own_architecture()) return;
    throw Error(
        Exit::kConfig, "cannot push dtagent",
        fmt::format("the host is {}, the dtagent here is for {}", architecture, own_architecture()),
        fmt::format("install dtlaunch for {} there", architecture));
  }

  static Error too_much() {
    return Error(Exit::kVersion, "cannot push dtagent",
                 fmt::format("the login shell printed more than {} bytes", 2 * kMaxShellNoiseBytes),
                 "start-up files that print nothing when the shell is not interactive");
  }

  // A host that has given up closes its input. It says why on standard error, which run() reads to
  // the end; a write error would only hide the reason.
  awaitable<void> send(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size() && !refused_; at += kPieceBytes) {
      try {
        co_await stream_.write(bytes.substr(at, kPieceBytes));
      } catch (const Error& error) {
        if (error.status() != Exit::kIo) throw;
        refused_ = true;
      }
      progress_();
    }
    pushed_.sent_bytes += bytes.size();
  }

  // The reason is at the end of "head: error writing 'standard output': No space left on device".
  // If dtagent itself failed, its line is better, because it has the path.
  Error failure() const {
    const std::vector<std::string> lines = split(trim(stream_.standard_error()), '\n');
    std::string reason(trim(lines.back()));
    for (const std::string& line : lines) {
      if (line.starts_with("dtagent: ")) reason = line;  // dtagent's line comes before the shell's
    }
    if (reason.empty()) reason = stream_.ending();
    reason = reason.substr(0, reason.find(". Try: "));
    const std::size_t colon = reason.rfind(": ");
    if (colon != std::string::npos) reason = reason.substr(colon + 2);
    return Error(Exit::kCannotWrite, fmt::format("{}: cannot push", cache_), reason,
                 command_on(host_, look_at(reason)));
  }

  // The command that shows or fixes the cause.
  std::string look_at(const std::string& reason) const {
    constexpr std::string_view kOpen = " may write ";
    const bool full =
        reason.find("space left") != std::string::npos || reason.find("quota") != std::string::npos;
    const std::size_t open = reason.find(kOpen);
    if (open == std::string::npos) return (full ? "df -h " : "ls -ld ") + one_shell_word(cache_);
    return "chmod go-w " + one_shell_word(reason.substr(open + kOpen.size()));
  }

  SshStream& stream_;
  Host host_;
  std::shared_ptr<const Bundle> bundle_;
  AfterPush after_;
  std::function<void()> progress_;
  std::string received_;
  std::string cache_;     // set when the host has asked for files
  bool refused_ = false;  // the host takes no more
  Pushed pushed_;
};

}  // namespace

std::optional<PushAnswer> take_push_answer(std::string& received) {
  const std::size_t at = received.find(kPushMarker);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + kPushMarker.size();
  const std::size_t end = received.find('\n', begin);
  if (end == std::string::npos) return std::nullopt;
  const std::string line = printable(received.substr(begin, end - begin));
  received.erase(0, end);  // the newline may begin the next marker
  const std::size_t blank = std::min(line.find(' '), line.size());
  return PushAnswer{line.substr(0, blank), std::string(trim(line.substr(blank)))};
}

awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundle> bundle,
                              AfterPush after, std::function<void()> progress) {
  Push push(stream, std::move(host), std::move(bundle), after, std::move(progress));
  co_return co_await push.run();
}

// 64 random bits: two pushes to one home directory must not choose the same temporary folder.
std::string new_push_token() {
  return to_hex(random_bytes(8, "draw a token"));
}

}  // namespace dtl
