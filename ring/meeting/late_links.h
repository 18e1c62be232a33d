#pragma once
// LateLinks: the connections that a running communicator makes: its links, each on first use, and a
// control line to another rank when its parent has left. In a large world a rank talks to a few
// others only, so links to all would cost time, memory and descriptors for nothing. Its listener
// stays open as long as the communicator. Owned by EngineProgress; used with the wheel. Never
// blocks. Knows nothing of operations.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/link_builder.h"
#include "ring/meeting/members.h"

namespace dtl::ring {

class LateLinks {
 public:
  struct Settings {
    std::size_t streams = 1;  // of a link's bulk lane
    std::chrono::milliseconds timeout{60000};
    std::chrono::milliseconds silence{20000};  // of a host, on a control line: it is lost
  };
  // callers: those of the meeting that this rank could not take yet. Throws CommError.
  LateLinks(std::unique_ptr<Identity> identity, std::vector<PeerInfo> infos, Acceptor acceptor,
            std::vector<Caller> callers, const Settings& settings);

  // This rank needs this lane of a link. Throws CommError if it may not have more descriptors.
  void want(int peer, Lane lane);

  // Makes a control line to this rank, another one than before.
  void call(int rank);

  struct Failure {
    int status, peer;
    std::string cause;
  };
  struct Line {
    int rank;
    Channel channel;
  };
  struct News {
    std::vector<LinkBuilder::Made> made;
    std::vector<Line> lines;      // called for, or of callers
    std::optional<int> uncalled;  // the rank of call() does not listen any more
    std::vector<int> refusals;    // ranks that do not listen any more: they have left, or are lost
    std::optional<Failure> failure;
  };
  // Call it when fd() is readable, or at due().
  News step();
  Clock::time_point due() const;
  // Watch it for input. Another one after each step(); -1: there is none now, see due().
  int fd() const { return watch_.get(); }
  int listener() const { return acceptor_.fd(); }

 private:
  void watch();
  void admit(Caller caller, News& news);
  void make_line(News& news);
  Clock::time_point deadline() const;  // of the oldest want
  std::optional<Failure> look_at_time() const;

  const std::unique_ptr<Identity> identity_;
  Members members_;
  Acceptor acceptor_;
  LinkBuilder builder_;
  const Settings settings_;
  std::optional<Connector> line_;
  bool has_wants_ = false;                                 // since the last step()
  Fd watch_;                                               // an epoll of all that step() may read
  Clock::time_point looks_at_ = Clock::time_point::max();  // when there is none
};

}  // namespace dtl::ring
