#pragma once
// PushFeeds: what all hosts of one push share where hosts feed each other: the tree, the ticket and
// the checksums of the pieces. Used if more than kFewHosts hosts are pushed to. It lives as long as
// the job, or as `dtlaunch push`; one io_context thread. Waits end when the tree decides; it never
// fails.

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
  PushFeeds(const Bundle& bundle, PortRange ports);

  // For push_command(): the word for dtagent --receive.
  const std::string& word() const { return word_; }
  const std::string& pieces() const { return pieces_; }  // the line for a host, with its newline
  const std::string& ticket() const { return ticket_; }  // which seeders ask for

  // Streams of hosts that seed although nothing else runs there, until let_go(). Their io_context
  // must outlive this.
  void keep(std::unique_ptr<AgentStream> stream) { kept_.push_back(std::move(stream)); }
  void let_go() { kept_.clear(); }

  // One host, while it is pushed to.
  class Guest {
   public:
    Guest(PushFeeds& feeds, std::string name);
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

   private:
    PushFeeds& feeds_;
    PushTree::Id id_;
    bool has_asked_ = false;
  };

 private:
  void wake();

  PushTree tree_;
  std::vector<std::string> names_;  // of the tree's hosts
  std::map<PushTree::Id, asio::steady_timer*> waiting_;
  std::string word_, pieces_, ticket_;
  std::vector<std::unique_ptr<AgentStream>> kept_;
};

// Feeds for a push to these hosts; null if few of them need a login. ports: to listen on.
std::shared_ptr<PushFeeds> make_push_feeds(const Bundle& bundle, const std::vector<Host>& hosts,
                                           PortRange ports = {});

}  // namespace dtl
