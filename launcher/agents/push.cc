// One loop reads answers and sends files. The host asks for what it needs: nothing if it has
// suitable programs, else dtagent alone, and the rest once that dtagent runs. With PushFeeds, the
// answer to either may be the name of a host that has it.
#include "launcher/agents/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/request/command_text.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // a slow host makes progress this often

// Of which there are builds.
constexpr std::string_view kBuilt[] = {"x86_64", "aarch64"};

// One push to one host.
class Push {
 public:
  Push(SshStream& stream, Host host, std::shared_ptr<const Bundles> bundles,
       std::shared_ptr<PushFeeds> feeds, AfterPush after, std::function<void()> progress)
      : stream_(stream),
        host_(std::move(host)),
        bundles_(std::move(bundles)),
        feeds_(std::move(feeds)),
        after_(after),
        talk_(stream, progress),
        progress_(std::move(progress)) {}

  awaitable<Pushed> run() {
    for (;;) {
      // Several answers may have arrived in one read.
      while (const auto answer = take_push_answer(received_)) {
        if (answer->word == "there") {
          pushed_.folder = answer->rest;
          note_end();
          co_return pushed_;
        }
        co_await obey(*answer);
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
    note_end();
    stream_.unread(std::move(received_));
    co_return pushed_;
  }

 private:
  awaitable<void> obey(HostAnswer answer) {
    if (answer.word == "want" && bundle_ == nullptr) {
      accept(answer.rest);
      co_await send_agent();
    } else if (answer.word == "send" && bundle_ != nullptr) {
      // The pushed dtagent has asked for these files, and checks them as they arrive.
      co_await send_rest(answer.rest);
    } else if (answer.word == "fetches") {
      can_fetch_agent_ = true;
    } else if (answer.word == "failed" && feed_ && feed_->seeder) {
      refuse_feed();
      co_await send_agent();
    } else if (answer.word == "seeds" && feed_) {
      note_seeder(answer.rest);
    }
  }

  // dtagent, which fetches the rest. Without it a host can use only what it has: see kFetch in
  // agent_command.cc.
  awaitable<void> send_agent() {
    const std::string& agent = bundle_->files[0].bytes;
    if (guest_ && can_fetch_agent_) {
      if (!feed_) feed_ = co_await guest_->wait_for_feed(progress_);
      if (const auto& seeder = feed_->seeder) {
        co_await talk_.say(
            fmt::format("from {} {} {}\n", seeder->address, seeder->port, feeds_->ticket()));
        co_return;
      }
    }
    if (guest_) co_await talk_.say("here\n");
    co_await send(agent, 0);
  }

  // request: "BYTES REASON", what it has of these files and why it asks again.
  awaitable<void> send_rest(std::string request) {
    std::size_t has = 0;
    if (guest_) {
      const auto number = parse_integer(request.substr(0, request.find(' ')), 0, INT64_MAX);
      has = static_cast<std::size_t>(number.value_or(0));
      // It asks again: its seeder has failed. The launcher sends everything only once.
      if (has_pieces_ && feed_ && feed_->seeder)
        refuse_feed();
      else if (has_pieces_)
        throw failure();
      if (!std::exchange(has_pieces_, true)) co_await talk_.say(guest_->pieces());
      if (!feed_) feed_ = co_await guest_->wait_for_feed(progress_);
      if (const auto& seeder = feed_->seeder) {
        pushed_.from = guest_->name_of(*seeder);
        co_await talk_.say(fmt::format("from {} {}\n", seeder->address, seeder->port));
        co_return;
      }
      pushed_.from.clear();
      co_await talk_.say("here\n");
    }
    for (std::size_t i = 1; i < bundle_->files.size(); ++i) {
      const std::string& bytes = bundle_->files[i].bytes;
      if (has < bytes.size()) co_await send(bytes, has);
      has -= std::min(has, bytes.size());
    }
  }

  void refuse_feed() {
    guest_->failed();
    feed_.reset();
  }

  // The host has everything now.
  void note_seeder(const std::string& rest) {
    auto place = parse_seeder_place(rest);
    if (!place) return;
    pushed_.seeds = true;
    guest_->seeds(std::move(place->address), place->port);
    feed_.reset();
  }

  // It has everything, and does not give it to others.
  void note_end() {
    if (feed_) guest_->fed();
    feed_.reset();
  }

  void accept(const std::string& request) {
    const std::size_t blank = std::min(request.find(' '), request.size());
    const std::string architecture = request.substr(0, blank);
    cache_ = trim(request.substr(blank));
    bundle_ = bundles_->find(architecture);
    if (bundle_ == nullptr) throw no_programs_for(architecture, host_, *bundles_);
    pushed_.name = bundle_->name;
    if (feeds_) guest_.emplace(*feeds_, *bundle_, host_.name);
  }

  static Error too_much() {
    return Error(Exit::kVersion, "cannot push dtagent",
                 fmt::format("the login shell printed more than {} bytes", 2 * kMaxShellNoiseBytes),
                 "start-up files that print nothing when the shell is not interactive");
  }

  // From `begin` on.
  awaitable<void> send(const std::string& bytes, std::size_t begin) {
    for (std::size_t at = begin; at < bytes.size() && !talk_.has_refused(); at += kPieceBytes) {
      co_await talk_.say(bytes.substr(at, kPieceBytes));
    }
    pushed_.sent_bytes += bytes.size() - begin;
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
  std::shared_ptr<const Bundles> bundles_;
  const Bundle* bundle_ = nullptr;    // the host's, once it has said its architecture
  std::shared_ptr<PushFeeds> feeds_;  // shared by all hosts of the push; null: no tree
  std::optional<PushFeeds::Guest> guest_;
  AfterPush after_;
  HostTalk talk_;
  std::function<void()> progress_;
  std::optional<PushTree::Feed> feed_;  // the present one, until it has failed or is over
  bool can_fetch_agent_ = false;        // the host's shell can
  bool has_pieces_ = false;             // the host
  std::string received_;
  std::string cache_;  // set when the host has asked for files
  Pushed pushed_;
};

}  // namespace

std::optional<HostAnswer> take_push_answer(std::string& received) {
  auto answer = take_answer(received, kPushMarker);
  if (answer) *answer = {printable(answer->word), printable(answer->rest)};
  return answer;
}

Error no_programs_for(const std::string& architecture, const Host& host, const Bundles& bundles) {
  const std::string folder = bundles.elsewhere + "/" + architecture;
  const bool is_built =
      std::find(std::begin(kBuilt), std::end(kBuilt), architecture) != std::end(kBuilt);
  // The tarball's folder of programs, without the two folders above them.
  const std::string unpack = fmt::format(
      "mkdir -p {0} && tar -xzf dtlaunch-{1}-linux-{2}.tar.gz -C {0} "
      "--strip-components=2 dtlaunch-{1}/bin",
      one_shell_word(folder), DTL_VERSION, architecture);
  return Error(Exit::kConfig, "cannot push dtagent",
               fmt::format("the host is {}, dtlaunch is {}, and there is no {}", architecture,
                           bundles.all[0].architecture, bundles.missing_program(architecture)),
               is_built ? unpack : fmt::format("dtlaunch built on {}, without --push", host.name));
}

std::optional<SeederPlace> parse_seeder_place(const std::string& text) {
  constexpr std::size_t kLongestAddress = 45;  // INET6_ADDRSTRLEN without its end
  const std::vector<std::string> words = split(text, ' ');
  const auto port = words.size() == 2 ? parse_integer(words[1], 1, 65535) : std::nullopt;
  if (!port || words[0].empty() || words[0].size() > kLongestAddress ||
      words[0].find_first_not_of("0123456789abcdef:.") != std::string::npos) {
    return std::nullopt;
  }
  return SeederPlace{words[0], static_cast<std::uint16_t>(*port)};
}

awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundles> bundles,
                              std::shared_ptr<PushFeeds> feeds, AfterPush after,
                              std::function<void()> progress) {
  Push push(stream, std::move(host), std::move(bundles), std::move(feeds), after,
            std::move(progress));
  co_return co_await push.run();
}

// 64 random bits: two pushes to one home directory must not choose the same temporary folder.
std::string new_push_token() {
  return to_hex(random_bytes(8, "draw a token"));
}

}  // namespace dtl
