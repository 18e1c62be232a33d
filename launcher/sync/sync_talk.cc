// Files are read as they are sent, so their folder may change meanwhile. What arrives is a state
// that each file has had: of one that grew, the beginning that was listed; any other change is an
// error.
#include "launcher/sync/sync_talk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "launcher/streams/host_talk.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr std::size_t kSyncPiece = 256 << 10;      // a slow host makes progress this often
constexpr std::size_t kMostAnswerBytes = 8 << 20;  // every other one of 500,000 files

constexpr std::string_view kConfigEnding = "exit status 78";  // Exit::kConfig

// A file of the folder, open for reading.
class SentFile {
 public:
  SentFile(const std::string& root, const FolderEntry& entry)
      : path_(root + "/" + entry.path), entry_(entry) {
    file_ = Fd(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file_.valid()) throw cannot_read(printable(path_));
    check();
  }

  // Up to kSyncPiece bytes from `at`, all of them listed.
  std::string piece(std::uint64_t at) const {
    std::string bytes(
        static_cast<std::size_t>(std::min<std::uint64_t>(kSyncPiece, entry_.bytes - at)), '\0');
    for (std::size_t have = 0; have < bytes.size();) {
      const ssize_t got = ::pread(file_.get(), bytes.data() + have, bytes.size() - have,
                                  static_cast<off_t>(at + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw cannot_read(printable(path_));
      if (got == 0) throw changed();
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  // Before and after reading.
  void check() const {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw cannot_read(printable(path_));
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    const std::int64_t modified =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    const bool is_as_listed =
        bytes == entry_.bytes && std::max<std::int64_t>(modified, 0) == entry_.modified_ns;
    if (!S_ISREG(status.st_mode) || !(is_as_listed || bytes > entry_.bytes)) throw changed();
  }

 private:
  Error changed() const {
    return Error(Exit::kIo, printable(path_), "it changed while dtlaunch read it",
                 "the same command again");
  }

  std::string path_;
  const FolderEntry& entry_;
  Fd file_;
};

class SyncTalk {
 public:
  SyncTalk(AgentStream& stream, const FolderRequest& request, Host host,
           std::function<void()> progress)
      : stream_(stream),
        request_(request),
        host_(std::move(host)),
        talk_(stream, progress),
        progress_(std::move(progress)) {}

  awaitable<SyncedPlace> run() {
    const std::string text = folder_request_text(request_);
    co_await talk_.say(fmt::format("{}\n", text.size()));
    for (std::size_t at = 0; at < text.size() && !talk_.has_refused(); at += kSyncPiece) {
      co_await talk_.say(text.substr(at, kSyncPiece));
    }
    for (;;) {
      while (const auto answer = take_answer(received_, kSyncMarker)) {
        if (answer->word == "want") co_await send_wanted(answer->rest);
        if (answer->word == "same") place_.is_same = true;
        if (answer->word == "same" || answer->word == "done") {
          place_.folder = answer->word == "done" ? answer->rest : request_.root;
          co_return place_;
        }
      }
      const std::string bytes = co_await stream_.read();
      progress_();
      if (bytes.empty()) throw failure();
      received_ += bytes;
      if (received_.size() > kMostAnswerBytes) {
        throw Error(Exit::kVersion, "cannot bring " + request_.root,
                    "the login shell there prints without end");
      }
    }
  }

 private:
  awaitable<void> send_wanted(std::string wanted) {
    for (const std::size_t index : parse_wanted(wanted, request_.entries.size())) {
      const FolderEntry& entry = request_.entries[index];
      if (entry.kind != EntryKind::kFile) throw failure();
      const SentFile file(request_.root, entry);
      for (std::uint64_t at = 0; at < entry.bytes && !talk_.has_refused(); at += kSyncPiece) {
        co_await talk_.say(file.piece(at));
      }
      if (talk_.has_refused()) co_return;
      file.check();
      ++place_.files;
      place_.bytes += entry.bytes;
    }
  }

  // dtagent's own line has the path, the reason and what to try; the login shell may have said more
  // around it.
  Error failure() const {
    const std::string attempted = fmt::format("cannot bring {}", request_.root);
    std::string reason(trim(stream_.standard_error()));
    constexpr std::string_view kAgent = "dtagent: ", kTry = ". Try: ";
    for (const std::string& line : split(stream_.standard_error(), '\n')) {
      if (line.starts_with(kAgent)) reason = line.substr(kAgent.size());
    }
    if (reason.empty()) reason = stream_.ending();
    if (reason.empty()) reason = "the connection ended";
    reason = printable(last_line(reason));
    const std::size_t hint = reason.find(kTry);
    const std::string look = hint == std::string::npos ? fmt::format("df -h {0}; ls -ld {0}",
                                                                     one_shell_word(request_.root))
                                                       : reason.substr(hint + kTry.size());
    const bool lacks_python = stream_.ending() == kConfigEnding;
    return Error(lacks_python ? Exit::kConfig : Exit::kCannotWrite, attempted,
                 reason.substr(0, hint), command_on(host_, look));
  }

  AgentStream& stream_;
  const FolderRequest& request_;
  Host host_;
  HostTalk talk_;
  std::function<void()> progress_;
  std::string received_;
  SyncedPlace place_;
};

}  // namespace

awaitable<SyncedPlace> sync_folder(AgentStream& stream, const FolderRequest& request, Host host,
                                   std::function<void()> progress) {
  SyncTalk talk(stream, request, std::move(host), std::move(progress));
  co_return co_await talk.run();
}

}  // namespace dtl
