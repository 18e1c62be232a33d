#pragma once
// FolderSync: brings folders of this machine to hosts that do not see them (--sync, --venv). All
// hosts of a job share it; sync_talk.h is the conversation with one of them. Lists the folders at
// the beginning, and again for the hosts of a later epoch. One io_context thread at a time. Every
// failure is an Error.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/streams/agent_stream.h"
#include "launcher/sync/list_folder.h"
#include "plan/request/host.h"
#include "wire/asio.h"

namespace dtl {

// The man page has these. A folder of code is small; data belongs on storage that all hosts see.
constexpr std::uint64_t kMostSyncBytes = 1'000'000'000;
constexpr std::size_t kMostSyncEntries = 100'000;
// An environment with PyTorch and its libraries for GPUs takes 7 GB in 40,000 files.
constexpr std::uint64_t kMostVenvBytes = 20'000'000'000;
constexpr std::size_t kMostVenvEntries = 500'000;
constexpr std::chrono::seconds kSyncDeadline{3600};  // all of it: 1 GB at 280 kB/s

class FolderSync {
 public:
  struct Folder {
    ListingWish wish;
    std::string elsewhere = {};  // FolderRequest's, as the other two
    std::string python = {}, python_version = {};
  };
  // Lists all folders. Throws Error as list_folder() does.
  explicit FolderSync(std::vector<Folder> folders);
  FolderSync(const FolderSync&) = delete;
  FolderSync& operator=(const FolderSync&) = delete;

  std::vector<std::string> notices() const;  // for the user, about what was listed
  // One per folder: "--sync /home/ann/work: 12 files, 3.4 MB".
  std::vector<std::string> summaries() const;

  // Starts dtagent --receive-folder on the host.
  using Opener = std::function<awaitable<std::unique_ptr<AgentStream>>()>;
  // Brings all folders, one after another, once it is the host's turn.
  awaitable<void> bring(asio::io_context& context, Host host, Opener open);

  // Where a path of this machine is on a host: the same, unless it is in a folder that had to go
  // elsewhere there.
  std::string place_on(const std::string& host, const std::string& path) const;

 private:
  struct Wave;
  struct Turn;

  std::shared_ptr<Wave> join_wave();
  awaitable<void> wait_for_turn();

  std::vector<Folder> folders_;
  std::vector<ListedFolder> listed_;  // by the last wave
  bool is_fresh_ = true;              // listed_: no wave has begun yet
  std::weak_ptr<Wave> wave_;          // shared by the hosts that are being brought to now
  std::size_t busy_ = 0;              // hosts whose turn it is
  std::vector<asio::steady_timer*> waiting_;
  std::map<std::pair<std::string, std::string>, std::string> moved_;  // host, folder: its place
};

}  // namespace dtl
