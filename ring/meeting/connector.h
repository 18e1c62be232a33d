#pragma once
// Connector: connects to one rank and proves the secret, again and again until that rank has
// confirmed it, the reason is final, or the caller's patience ends. Ranks start at different times,
// so a refused connection mostly means "not yet". A connection that is closed during the handshake
// mostly means "too many callers": the next attempts come later and later. Never blocks. One
// thread.

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ring/common/socket.h"
#include "ring/dtring.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/handshake.h"

namespace dtl::ring {

class Connector {
 public:
  // Tries the addresses in turn. identity must outlive the connector.
  Connector(const Identity& identity, std::int32_t to, Stream stream,
            std::vector<Address> addresses, std::uint16_t lane = 0);

  void add_to_poll(std::vector<pollfd>& set) const;
  // The authenticated connection once there is one. Throws CommError for a final reason.
  Channel step();
  // Why the latest attempt failed, with the address: "10.0.0.1:29500: Connection refused".
  const std::string& last_reason() const { return last_reason_; }
  // A dt_status. DT_E_AUTH: something answers there that does not belong to this job.
  int last_status() const { return last_status_; }
  // Nobody listens there.
  bool is_refused() const { return is_refused_; }
  // When step() has something to do although nothing has arrived.
  Clock::time_point due() const {
    return connecting_.valid() || handshake_ ? attempt_deadline_ : next_attempt_;
  }
  std::int32_t to() const { return to_; }
  std::uint16_t lane() const { return lane_; }

 private:
  const Address& address() const { return addresses_[attempt_ % addresses_.size()]; }
  void start();
  void give_up_attempt(int dt_status, const std::string& reason);
  void note(int dt_status, const std::string& reason);
  void begin_handshake();
  Channel advance_handshake();

  const Identity& identity_;
  std::int32_t to_;
  Stream stream_;
  std::uint16_t lane_;
  std::vector<Address> addresses_;
  std::size_t attempt_ = 0;
  int turned_away_ = 0;  // times in a row
  Fd connecting_;
  std::optional<ClientHandshake> handshake_;
  Clock::time_point attempt_deadline_{}, next_attempt_{};
  std::string last_reason_ = "no attempt was made";
  int last_status_ = DT_E_TIMEOUT;
  bool is_refused_ = false;
};

}  // namespace dtl::ring
