// A rank that finds something wrong throws; the rendezvous tells the others. Ranks that cannot be
// told by a line, because they have none yet, are told here.
#include "ring/meeting/meeting_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ring/common/socket.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kMostNames = 8;  // of ranks in one message
constexpr int kTick_ms = 20;           // deadlines are looked at this often while nothing arrives
// Rank 0 knows who is missing, so the others wait a little longer for it to say so. Otherwise each
// would name rank 0.
constexpr auto kLeaderVerdictDelay = std::chrono::seconds(2);

}  // namespace

MeetingLines::MeetingLines(const Members& members, int timeout_ms, Hear hear)
    : members_(members),
      timeout_ms_(timeout_ms),
      deadline_(Clock::now() + std::chrono::milliseconds(timeout_ms)),
      hear_(std::move(hear)),
      differing_(members.infos.size()) {}

void MeetingLines::turn(const std::vector<Connector*>& connectors) {
  std::vector<pollfd> set;
  if (acceptor_) acceptor_->add_to_poll(set);
  for (const Connector* connector : connectors) connector->add_to_poll(set);
  for (const ControlLine& line : lines_) set.push_back({line.channel.fd(), POLLIN, 0});
  // An error is an early end of the wait; the reads below find out what is wrong.
  (void)::poll(set.data(), set.size(), kTick_ms);
  if (!acceptor_) return;  // nor is there a line yet
  for (Caller& caller : acceptor_->step()) {
    if (caller.hello.stream != Stream::kControl) {
      callers_.push_back(std::move(caller));  // may know the nodes already, this rank not yet
    } else if (members_.leads()) {
      admit(std::move(caller));
    } else {
      admit_child(std::move(caller));
    }
  }
  read();
}

void MeetingLines::admit(Caller caller) {
  const Identity& identity = members_.identity;
  const int from = caller.hello.from;
  if (caller.hello.world != identity.world) {
    const CommError error(DT_E_MISMATCH, "cannot form the ring",
                          fmt::format("rank {} was started with a world of {}, rank 0 with {}",
                                      from, caller.hello.world, identity.world));
    // The rank that differs has no line yet, but should say the same as the others.
    send_now(caller.channel, encode({FrameKind::kFail, DT_E_MISMATCH, from, 0, error.what()}));
    throw error;
  }
  if (from >= identity.world) return;
  if (((caller.hello.flags & kEncrypts) != 0) != identity.encrypts) {
    differing_[static_cast<std::size_t>(from)] = true;
    return;  // it knows; the others are told once they are there
  }
  const auto is_same = [&](const ControlLine& line) { return line.rank == from; };
  if (std::any_of(lines_.begin(), lines_.end(), is_same)) {
    const std::string reason =
        fmt::format("cannot join: {} has already joined", members_.name(from));
    send_now(caller.channel, encode({FrameKind::kFail, DT_E_INVAL, from, 0, reason}));
    return;  // the first one stays
  }
  add(from, std::move(caller.channel));
}

// Rank 0 has sent it here. It may be early: this rank waits for the table itself.
void MeetingLines::admit_child(Caller caller) {
  const int from = caller.hello.from;
  if (from <= members_.identity.rank || from >= members_.identity.world) return;
  const auto is_same = [&](const ControlLine& line) { return line.rank == from; };
  if (std::any_of(lines_.begin(), lines_.end(), is_same)) return;
  add(from, std::move(caller.channel));
  if (!table_.empty()) send_until(lines_.back().channel, table_, deadline_);
}

void MeetingLines::read() {
  for (ControlLine& line : lines_) {
    std::vector<Frame> frames;
    const LineState state = line.reader.read(line.channel, frames);
    for (const Frame& frame : frames) hear(line, frame);
    // Rank 0 closes this line once it has named a parent; that is not a loss.
    if (parent_ && line.rank == 0) line.is_open = false;
    if (state != LineState::kOpen && !has_gone_ && line.is_open) {
      const int error = line.reader.closing_error();
      if (error == kAltered || error == kRejected) {
        throw CommError(
            DT_E_AUTH, "cannot form the ring",
            fmt::format("what {} and {} sent was changed on its way: TLS refuses it",
                        members_.name(line.rank), members_.name(members_.identity.rank)));
      }
      throw CommError(DT_E_PEER, members_.name(line.rank) + " was lost while the ring was formed",
                      state == LineState::kGarbled ? "it sent garbage" : "connection closed");
    }
  }
  std::erase_if(lines_, [&](const ControlLine& line) { return parent_ && line.rank == 0; });
}

void MeetingLines::hear(ControlLine& line, const Frame& frame) {
  // Of the running ring, not of this meeting. It may come in the same read as kGo: another rank can
  // fail as soon as it may run.
  if (has_gone_) return early_.push_back({frame, line.channel.fd()});
  switch (frame.kind) {
    case FrameKind::kFail:
      throw CommError(frame.status, frame.text, {});
    case FrameKind::kBye:
      throw CommError(DT_E_PEER, members_.name(line.rank) + " left while the ring was formed", {});
    case FrameKind::kParent:
      parent_ = frame;
      return;
    case FrameKind::kJoin:
      return hear_(line.rank, frame);
    case FrameKind::kReady:
    case FrameKind::kShare:
      if (!members_.leads()) return send_up(frame);
      if (frame.rank > 0 && frame.rank < members_.identity.world) hear_(frame.rank, frame);
      return;
    case FrameKind::kGo:
      has_gone_ = true;
      return hand_down(frame);
    case FrameKind::kTable:
    case FrameKind::kNodes:
      if (is_below(line)) return;
      hand_down(frame);
      return hear_(line.rank, frame);
  }
}

void MeetingLines::hand_down(const Frame& frame) {
  const std::string bytes = encode(frame);
  if (frame.kind == FrameKind::kTable) table_ = bytes;
  for (ControlLine& line : lines_) {
    if (is_below(line)) send_until(line.channel, bytes, deadline_);
  }
}

void MeetingLines::send_up(const Frame& frame) {
  const std::string bytes = encode(frame);
  for (ControlLine& line : lines_) {
    if (!is_below(line)) send_until(line.channel, bytes, deadline_);
  }
}

void MeetingLines::make_tree(std::uint32_t fan_out) {
  const auto is_child = [&](const ControlLine& line) {
    return static_cast<std::uint32_t>(line.rank) <= fan_out;
  };
  for (ControlLine& line : lines_) {
    if (is_child(line)) continue;
    const int parent = parent_of(line.rank, fan_out);
    PeerInfo there = members_.of(parent);
    there.share.clear();
    send_now(line.channel, encode({FrameKind::kParent, 0, parent, 0, encode_peer(there)}));
  }
  std::erase_if(lines_, [&](const ControlLine& line) { return !is_child(line); });
}

void MeetingLines::send(const Frame& frame) {
  const std::string bytes = encode(frame);
  for (ControlLine& line : lines_) send_now(line.channel, bytes);
}

void MeetingLines::publish(const Frame& frame) {
  hand_down(frame);
}

void MeetingLines::check_deadline(const std::string& what, const std::vector<int>& missing) const {
  const auto patience =
      members_.leads() ? Clock::duration::zero() : Clock::duration(kLeaderVerdictDelay);
  if (Clock::now() < deadline_ + patience) return;
  check_encryption();
  std::vector<std::string> names;
  for (const int rank : missing) {
    if (names.size() < kMostNames) names.push_back(members_.name(rank));
  }
  std::string all = fmt::format("{}", fmt::join(names, ", ")), hint;
  if (missing.size() > names.size()) {
    all += fmt::format(" and {} more", missing.size() - names.size());
  }
  std::string reason = fmt::format("{} {}", all, what);
  if (const std::string strangers = acceptor_ ? acceptor_->strangers() : ""; !strangers.empty()) {
    reason += fmt::format("; meanwhile {}", strangers);
    hint = fmt::format("on the host they come from: ss -tnp dport = :{}",
                       local_address(acceptor_->fd()).port());
  }
  if (const int shortage = acceptor_ ? acceptor_->shortage() : 0; shortage != 0) {
    reason += fmt::format("; {} had to let callers wait: {}", members_.name(members_.identity.rank),
                          errno_text(shortage));
    hint = limit_command(shortage);
  }
  throw CommError(DT_E_TIMEOUT, fmt::format("cannot form the ring within {} ms", timeout_ms_),
                  reason, hint);
}

// Nobody but rank 0 knows which ranks differ. It waits for the others first, so that it can tell
// them all at once.
void MeetingLines::check_encryption() const {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < differing_.size(); ++rank) {
    if (differing_[rank]) names.push_back(fmt::format("rank {}", rank));
  }
  if (names.empty()) return;
  throw CommError(DT_E_MISMATCH, "cannot form the ring",
                  differing_encryption(fmt::format("{}", fmt::join(names, ", ")),
                                       !members_.identity.encrypts, members_.name(0)));
}

}  // namespace dtl::ring
