#pragma once
// MeetingLines: the control lines while ranks meet: who may have one, what comes over them and is
// passed on, and who is waited for until when. Every wait of the meeting goes through turn(), so
// that whatever is waited for, callers are accepted and failures are heard. Owned by the
// rendezvous, which takes the lines when all links exist. Knows nothing of what frames mean, but
// for those that end the meeting. Blocks for a tick at most, but for publish().

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ring/common/comm_error.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/connector.h"
#include "ring/meeting/control_line.h"
#include "ring/meeting/members.h"

namespace dtl::ring {

// Of the ring that runs already, and the descriptor of the line that it came from.
struct EarlyFrame {
  Frame frame;
  int fd;
};

class MeetingLines {
 public:
  using Hear = std::function<void(int rank, const Frame&)>;
  // hear: takes what is said to this rank, without kGo, kFail and kBye. members outlives this.
  MeetingLines(const Members& members, int timeout_ms, Hear hear);

  void accept(Fd listener) { acceptor_.emplace(members_.identity, std::move(listener)); }
  void add(int rank, Channel channel) { lines_.push_back({rank, std::move(channel), {}, true}); }
  // Takes what has come, or waits for it a little. Throws CommError when the meeting has failed.
  void turn(const std::vector<Connector*>& connectors = {});
  void send(const Frame& frame);  // on all lines, without waiting
  // These wait until the lines take it, or the deadline has come: a table of many ranks is longer
  // than a socket's buffer.
  void send_up(const Frame& frame);  // to rank 0
  void publish(const Frame& frame);  // rank 0: to all
  // Rank 0, when all have joined: tells the ranks below its children their parents, and ends their
  // lines.
  void make_tree(std::uint32_t fan_out);
  // What make_tree() told this rank, which has no line then; once.
  std::optional<Frame> take_parent() { return std::exchange(parent_, std::nullopt); }
  // Throws CommError once `missing` have been waited for long enough: names them, and says `what`
  // they did not do.
  void check_deadline(const std::string& what, const std::vector<int>& missing) const;
  // Rank 0: throws CommError when ranks differ in whether they encrypt.
  void check_encryption() const;

  Clock::time_point deadline() const { return deadline_; }
  bool differs(int rank) const { return differing_[static_cast<std::size_t>(rank)]; }
  bool has_gone() const { return has_gone_; }  // rank 0 has said that all links exist
  std::vector<Caller> take_callers() { return std::exchange(callers_, {}); }  // for data
  struct Outcome {
    std::vector<ControlLine> lines;
    std::vector<EarlyFrame> early;  // what was said after that
    Acceptor acceptor;
    std::vector<Caller> callers;
  };
  Outcome take() {
    return {std::move(lines_), std::move(early_), std::move(*acceptor_), std::move(callers_)};
  }

 private:
  void admit(Caller caller);
  void admit_child(Caller caller);
  void read();
  void hear(ControlLine& line, const Frame& frame);
  void hand_down(const Frame& frame);
  bool is_below(const ControlLine& line) const { return line.rank > members_.identity.rank; }

  const Members& members_;
  const int timeout_ms_;
  const Clock::time_point deadline_;
  const Hear hear_;
  std::optional<Acceptor> acceptor_;
  std::vector<ControlLine> lines_;
  std::vector<Caller> callers_;
  std::vector<bool> differing_;  // by rank: in whether it encrypts
  // What came behind kGo: it belongs to the ring that runs, and the engine hears it first.
  std::vector<EarlyFrame> early_;
  bool has_gone_ = false;
  std::optional<Frame> parent_;
  std::string table_;  // as a frame, for children that come later than it
};

}  // namespace dtl::ring
