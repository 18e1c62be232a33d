// A wave is all hosts that are being brought to at the same time: they get the same list, and the
// proofs, files in the folders by which a host recognises them, exist as long as it.
#include "launcher/sync/folder_sync.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/sync/sync_talk.h"
#include "plan/request/command_text.h"
#include "wire/deadline.h"

namespace dtl {
namespace {

// More share the launcher's network and disk without any of them being ready sooner.
constexpr std::size_t kMostTurns = 16;
constexpr std::size_t kProofBytes = 8;  // random ones

// ".dtlaunch-proof.PID.RANDOM.HOST": whether the launcher that made it was killed. Launchers of
// other hosts may share the folder, and cannot be checked from here.
bool is_old_proof(const std::string& name) {
  if (!name.starts_with(kProofPrefix)) return false;
  const std::vector<std::string> parts = split(name.substr(kProofPrefix.size()), '.');
  if (parts.size() < 3) return false;
  const std::string host = name.substr(kProofPrefix.size() + parts[0].size() + parts[1].size() + 2);
  const auto pid = parse_integer(parts[0], 1, INT32_MAX);
  return host == own_host_name() && pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 &&
         errno == ESRCH;
}

void remove_old_proofs(const std::string& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator at(folder, failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    if (is_old_proof(at->path().filename())) old.push_back(at->path());
  }
  for (const auto& path : old) std::filesystem::remove(path, failed);
}

// An empty file that exists as long as this.
class ProofFile {
 public:
  explicit ProofFile(const std::string& folder) {
    remove_old_proofs(folder);
    name_ = fmt::format("{}{}.{}.{}", kProofPrefix, ::getpid(),
                        to_hex(random_bytes(kProofBytes, "draw a name")), own_host_name());
    path_ = folder + "/" + name_;
    const Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    // Hosts that share a folder in which we cannot write find nothing to do there.
    if (!file.valid()) path_.clear();
  }
  ~ProofFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  ProofFile(const ProofFile&) = delete;
  ProofFile& operator=(const ProofFile&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_, path_;
};

// A timer in a list of those that wait, also if the coroutine that waits is destroyed.
struct ListedTimer {
  ListedTimer(std::vector<asio::steady_timer*>& all, asio::steady_timer& one)
      : list(all), timer(one) {
    list.push_back(&timer);
  }
  ~ListedTimer() { std::erase(list, &timer); }
  ListedTimer(const ListedTimer&) = delete;
  ListedTimer& operator=(const ListedTimer&) = delete;

  std::vector<asio::steady_timer*>& list;
  asio::steady_timer& timer;
};

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

struct FolderSync::Wave {
  std::vector<std::unique_ptr<ProofFile>> proofs;
  std::vector<FolderRequest> requests;
};

// Lets the next host begin when it ends.
struct FolderSync::Turn {
  explicit Turn(FolderSync& owner) : sync(owner) { ++sync.busy_; }
  ~Turn() {
    --sync.busy_;
    if (sync.waiting_.empty()) return;
    // Off the list at once: the next end must wake another.
    asio::steady_timer* const next = sync.waiting_.front();
    sync.waiting_.erase(sync.waiting_.begin());
    next->cancel();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  FolderSync& sync;
};

FolderSync::FolderSync(std::vector<Folder> folders) : folders_(std::move(folders)) {
  for (const Folder& folder : folders_) listed_.push_back(list_folder(folder.wish));
}

std::vector<std::string> FolderSync::notices() const {
  std::vector<std::string> all;
  for (const ListedFolder& listed : listed_) {
    all.insert(all.end(), listed.notices.begin(), listed.notices.end());
  }
  return all;
}

std::vector<std::string> FolderSync::summaries() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    const auto count = static_cast<std::int64_t>(listed_[i].entries.size());
    lines.push_back(fmt::format("{}: {}, {}{}", folders_[i].wish.option, plural(count, "file"),
                                folder_size_text(listed_[i].bytes),
                                listed_[i].by_git ? ", as git lists them" : ""));
  }
  return lines;
}

std::shared_ptr<FolderSync::Wave> FolderSync::join_wave() {
  if (auto wave = wave_.lock()) return wave;
  const auto wave = std::make_shared<Wave>();  // shared by its hosts
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    const Folder& folder = folders_[i];
    if (!is_fresh_) listed_[i] = list_folder(folder.wish);
    wave->proofs.push_back(std::make_unique<ProofFile>(folder.wish.folder));
    wave->requests.push_back({folder.wish.folder, wave->proofs.back()->name(), folder.elsewhere,
                              folder.python, folder.python_version, listed_[i].entries});
  }
  is_fresh_ = false;
  wave_ = wave;
  return wave;
}

awaitable<void> FolderSync::wait_for_turn() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (busy_ >= kMostTurns) {
    timer.expires_at(asio::steady_timer::time_point::max());
    const ListedTimer listed(waiting_, timer);
    boost::system::error_code cancelled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
}

awaitable<void> FolderSync::bring(asio::io_context& context, Host host, Opener open) {
  const std::shared_ptr<Wave> wave = join_wave();
  co_await wait_for_turn();
  const Turn turn(*this);
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    const FolderRequest& request = wave->requests[i];
    const std::unique_ptr<AgentStream> stream = co_await open();
    StreamDeadline patience(context, *stream, kPushStall);
    SyncedPlace place;
    std::function<void()> progress = [&patience] { patience.postpone(kPushStall); };
    try {
      place = co_await sync_folder(*stream, request, host, std::move(progress));
    } catch (const Error&) {
      // A passed deadline closes the stream, which then fails in some other way.
      if (!patience.passed()) throw;
      throw Error(Exit::kUnreachable, "cannot bring " + request.root,
                  fmt::format("no bytes come or go for {} s", kPushStall.count()),
                  login_command(host));
    }
    const std::pair key(host.name, request.root);
    moved_.erase(key);
    if (place.folder != request.root) moved_[key] = place.folder;
    log_verbose(place.is_same ? fmt::format("{}: sees the same {}", host.name, request.root)
                              : fmt::format("{}: brought {} of {} to {} ({})", host.name,
                                            plural(static_cast<std::int64_t>(place.files), "file"),
                                            request.root, printable(place.folder),
                                            folder_size_text(place.bytes)));
  }
}

std::string FolderSync::place_on(const std::string& host, const std::string& path) const {
  for (const auto& [key, place] : moved_) {
    if (key.first == host && is_below(path, key.second)) {
      return place + path.substr(key.second.size());
    }
  }
  return path;
}

}  // namespace dtl
