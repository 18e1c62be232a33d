#pragma once
// PushFeeds: what all hosts of one push share where hosts feed each other: the ticket and, for each
// architecture, the tree and the checksums of the pieces. Used if more than kFewHosts hosts are
// pushed to. It lives as long as the job, or as `dtlaunch push`; one io_context thread. Waits end
// when the tree decides; it never fails.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/agents/bundle.h"
#include "launcher/agents/push_tree.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"
#include "plan/request/job_parts.h"
#include "wire/asio.h"

namespace dtl {

class PushFeeds {
 public:
  // For so few, the launcher alone is as fast.
  static constexpr std::size_t kFewHosts = PushTree::kRoots;

  // ports: on which hosts may listen. Throws Error if the kernel has no random numbers.
  explicit PushFeeds(PortRange ports);

  // For push_command(): the word for dtagent --receive.
  const std::string& word() const { return word_; }
  const std::string& ticket() const { return ticket_; }  // which seeders ask for

  // Streams of hosts that seed although nothing else runs there, until let_go(). Their io_context
  // must outlive this.
  void keep(std::unique_ptr<AgentStream> stream) { kept_.push_back(std::move(stream)); }
  void let_go() { kept_.clear(); }

 private:
  // Hosts of one architecture: only they can feed each other.
  struct Alike {
    PushTree tree;
    std::vector<std::string> names;  // of the tree's hosts
    std::map<PushTree::Id, asio::steady_timer*> waiting;
    std::string pieces;  // once a host has asked for them

    void wake();
  };

 public:
  // One host, while it is pushed to.
  class Guest {
   public:
    // bundle: for its architecture; it must outlive this and `feeds`.
    Guest(PushFeeds& feeds, const Bundle& bundle, std::string name);
    ~Guest();
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

    // Returns when the tree has decided. Calls `progress` from time to time, as a host that waits
    // its turn is not stuck.
    awaitable<PushTree::Feed> wait_for_feed(std::function<void()> progress);
    void failed();  // the seeder did not give it everything
    void fed();
    void seeds(std::string address, std::uint16_t port);
    const std::string& name_of(const PushTree::Seeder& seeder) const;
    const std::string& pieces();  // the line for the host, with its newline

   private:
    const PushFeeds& feeds_;
    const Bundle& bundle_;
    Alike& alike_;
    PushTree::Id id_;
    bool has_asked_ = false;
  };

 private:
  std::map<std::string, Alike> alike_;  // by the architecture
  std::string word_, ticket_;
  std::vector<std::unique_ptr<AgentStream>> kept_;
};

// Feeds for a push to these hosts; null if few of them need a login. ports: to listen on.
std::shared_ptr<PushFeeds> make_push_feeds(const std::vector<Host>& hosts, PortRange ports);

}  // namespace dtl
