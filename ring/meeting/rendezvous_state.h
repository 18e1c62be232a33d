#pragma once
// RendezvousState: one rank's part of a rendezvous. rendezvous.cc has what is said over the control
// lines, meeting_links.cc how ranks are connected with each other.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ring/common/comm_error.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/connector.h"
#include "ring/meeting/rendezvous.h"

namespace dtl::ring {

class RendezvousState {
 public:
  RendezvousState(const Identity& identity, MeetingPlace& place)
      : identity_(identity),
        place_(place),
        deadline_(Clock::now() + std::chrono::milliseconds(place.timeout_ms)),
        members_(static_cast<std::size_t>(identity.world)) {}

  Links run();

 private:
  bool leads() const { return identity_.rank == 0; }
  PeerInfo& own() { return members_[static_cast<std::size_t>(identity_.rank)]; }
  std::string name(int rank) const;

  void listen_as_leader(const std::vector<Address>& addresses);
  void join_leader(const std::vector<Address>& addresses);
  void gather_members();
  void check_encryption() const;
  void publish_table();
  void receive_table();
  void share_nodes();
  std::string open_share();
  NodeMemory memory_here() const;
  void link_up();
  void agree();
  void set_nodes(const std::string& shares);

  void poll_once(const std::vector<Connector*>& connectors);
  void admit(Caller caller);
  void admit_data(Caller caller);
  void admit_control(Caller caller);
  void read_control();
  void handle(ControlLine& line, const Frame& frame);
  void tell_all(const Frame& frame);
  [[noreturn]] void fail_all(const CommError& error);
  void check_deadline(const std::string& what, const std::vector<int>& missing);
  std::vector<int> ranks_without(const std::vector<bool>& done) const;

  const Identity& identity_;
  MeetingPlace& place_;
  Clock::time_point deadline_;
  std::optional<Acceptor> acceptor_;
  std::vector<PeerInfo> members_;
  std::vector<bool> joined_ = std::vector<bool>(members_.size()), ready_ = joined_;
  std::vector<bool> answered_ = joined_;
  std::vector<bool> refused_ = joined_;
  std::vector<bool> differing_ = joined_;  // in whether they encrypt
  std::vector<Caller> early_callers_;
  std::string table_, nodes_;
  bool go_ = false;
  Links links_;
};

}  // namespace dtl::ring
