#include "ring/meeting/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ring/common/socket.h"
#include "ring/meeting/peer_info.h"
#include "ring/meeting/rendezvous_state.h"

namespace dtl::ring {
namespace {

constexpr int kTick_ms = 20;  // deadlines are looked at this often while nothing arrives
// Rank 0 knows who is missing, so the others wait a little longer for it to say so.
constexpr auto kLeaderVerdictDelay = std::chrono::seconds(2);
constexpr int kBacklog = 1024;  // connections that come at the same moment

}  // namespace

std::string RendezvousState::name(int rank) const {
  const std::string& host = members_[static_cast<std::size_t>(rank)].host;
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

Links RendezvousState::run() {
  const auto addresses = place_.listener.valid()
                             ? std::vector{local_address(place_.listener.get())}
                             : resolve(place_.master_address, place_.master_port);
  if (addresses.front().is_unspecified()) {
    throw CommError(DT_E_INVAL, fmt::format("cannot meet at '{}'", place_.master_address),
                    "every address is not one address", "the address of rank 0's host");
  }
  try {
    if (leads()) {
      listen_as_leader(addresses);
      gather_members();
      publish_table();
    } else {
      join_leader(addresses);
      receive_table();
    }
    share_nodes();
    link_up();
    agree();
  } catch (const CommError& error) {
    fail_all(error);
  }
  for (const PeerInfo& member : members_) links_.hosts.push_back(member.host);
  links_.own_address = own().address->host();
  return std::move(links_);
}

void RendezvousState::listen_as_leader(const std::vector<Address>& addresses) {
  if (place_.listener.valid()) acceptor_.emplace(identity_, std::move(place_.listener));
  for (std::size_t i = 0; i < addresses.size() && !acceptor_; ++i) {
    try {
      acceptor_.emplace(identity_, listen_on(addresses[i], kBacklog));
    } catch (const CommError&) {
      if (i + 1 == addresses.size()) throw;  // a name may have addresses of other hosts as well
    }
  }
  members_[0] = {local_address(acceptor_->fd()), place_.host_name, place_.node, place_.share};
  joined_[0] = true;
  links_.settings = place_.settings;
}

void RendezvousState::join_leader(const std::vector<Address>& addresses) {
  Connector connector(identity_, 0, Stream::kControl, addresses);
  Channel channel = connector.step();
  while (!channel.valid()) {
    if (Clock::now() >= deadline_) {
      const int status = connector.last_status() == DT_E_AUTH ? DT_E_AUTH : DT_E_TIMEOUT;
      throw CommError(status, fmt::format("cannot reach rank 0 within {} ms", place_.timeout_ms),
                      connector.last_reason());
    }
    poll_once({&connector});
    channel = connector.step();
  }
  const Address here = place_.own_address.empty() ? local_address(channel.fd()).with_port(0)
                                                  : resolve(place_.own_address, 0).front();
  acceptor_.emplace(identity_, listen_on(here, kBacklog));
  own() = {local_address(acceptor_->fd()), place_.host_name, place_.node, place_.share};
  send_now(channel, encode({FrameKind::kJoin, 0, identity_.rank, 0, encode_peer(own())}));
  links_.control.push_back({0, std::move(channel), {}, true});
}

void RendezvousState::gather_members() {
  for (auto missing = ranks_without(joined_); !missing.empty(); missing = ranks_without(joined_)) {
    check_deadline(fmt::format("did not join at {}", members_[0].address->text()), missing);
    poll_once({});
    read_control();
  }
  check_encryption();
}

// Of a rank that differs nobody knows better than rank 0, who waits for the others to tell them.
void RendezvousState::check_encryption() const {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < differing_.size(); ++rank) {
    if (differing_[rank]) names.push_back(fmt::format("rank {}", rank));
  }
  if (names.empty()) return;
  throw CommError(DT_E_MISMATCH, "cannot form the ring",
                  differing_encryption(fmt::format("{}", fmt::join(names, ", ")),
                                       !identity_.encrypts, name(0)));
}

void RendezvousState::publish_table() {
  const std::string frame =
      encode({FrameKind::kTable, 0, 0, 0, encode_table(links_.settings, members_)});
  for (ControlLine& line : links_.control) send_until(line.channel, frame, deadline_);
}

void RendezvousState::receive_table() {
  while (table_.empty()) {
    check_deadline("did not send the table of ranks", {0});
    poll_once({});
    read_control();
  }
  decode_table(table_, local_address(links_.control[0].channel.fd()), links_.settings, members_);
}

void RendezvousState::agree() {
  if (leads()) {
    for (auto missing = ranks_without(ready_); !missing.empty(); missing = ranks_without(ready_)) {
      check_deadline("did not link up with their peers", missing);
      poll_once({});
      read_control();
    }
    tell_all({FrameKind::kGo, 0, 0, 0, {}});
    return;
  }
  tell_all({FrameKind::kReady, 0, identity_.rank, 0, {}});
  while (!go_) {
    check_deadline("did not say that all links exist", {0});
    poll_once({});
    read_control();
  }
}

void RendezvousState::poll_once(const std::vector<Connector*>& connectors) {
  std::vector<pollfd> set;
  if (acceptor_) acceptor_->add_to_poll(set);
  for (const Connector* connector : connectors) connector->add_to_poll(set);
  for (const ControlLine& line : links_.control) set.push_back({line.channel.fd(), POLLIN, 0});
  (void)::poll(set.data(), set.size(), kTick_ms);
  if (!acceptor_) return;
  for (Caller& caller : acceptor_->step()) admit(std::move(caller));
}

void RendezvousState::admit(Caller caller) {
  if (caller.hello.stream == Stream::kControl) {
    if (leads()) admit_control(std::move(caller));
  } else if (links_.links.empty()) {
    early_callers_.push_back(std::move(caller));  // it knows the nodes already, this rank not yet
  } else {
    admit_data(std::move(caller));
  }
}

void RendezvousState::admit_control(Caller caller) {
  const int from = caller.hello.from;
  if (caller.hello.world != identity_.world) {
    const CommError error(DT_E_MISMATCH, "cannot form the ring",
                          fmt::format("rank {} was started with a world of {}, rank 0 with {}",
                                      from, caller.hello.world, identity_.world));
    send_now(caller.channel, encode({FrameKind::kFail, DT_E_MISMATCH, from, 0, error.what()}));
    throw error;
  }
  if (from >= identity_.world) return;
  if (((caller.hello.flags & kEncrypts) != 0) != identity_.encrypts) {
    differing_[static_cast<std::size_t>(from)] = joined_[static_cast<std::size_t>(from)] = true;
    return;  // it knows; the others are told once they are there
  }
  const auto is_same = [&](const ControlLine& line) { return line.rank == from; };
  if (std::any_of(links_.control.begin(), links_.control.end(), is_same)) {
    const std::string reason = fmt::format("cannot join: {} has already joined", name(from));
    send_now(caller.channel, encode({FrameKind::kFail, DT_E_INVAL, from, 0, reason}));
    return;  // the first one stays
  }
  links_.control.push_back({from, std::move(caller.channel), {}, true});
}

void RendezvousState::read_control() {
  for (ControlLine& line : links_.control) {
    std::vector<Frame> frames;
    const LineState state = line.reader.read(line.channel, frames);
    for (const Frame& frame : frames) {
      if (go_) {
        links_.early.push_back(frame);  // of the running ring, not of this meeting
      } else {
        handle(line, frame);
      }
    }
    if (state != LineState::kOpen && !go_) {
      const int error = line.reader.closing_error();
      if (error == kAltered || error == kRejected) {
        throw CommError(DT_E_AUTH, "cannot form the ring",
                        fmt::format("what {} and {} sent was changed on its way: TLS refuses it",
                                    name(line.rank), name(identity_.rank)));
      }
      throw CommError(DT_E_PEER, name(line.rank) + " was lost while the ring was formed",
                      state == LineState::kGarbled ? "it sent garbage" : "connection closed");
    }
  }
}

void RendezvousState::handle(ControlLine& line, const Frame& frame) {
  const auto index = static_cast<std::size_t>(line.rank);
  switch (frame.kind) {
    case FrameKind::kJoin:
      if (!leads()) return;
      members_[index] = decode_peer(frame.text, *members_[0].address);
      joined_[index] = true;
      return;
    case FrameKind::kTable:
      if (!leads()) table_ = frame.text;
      return;
    case FrameKind::kReady:
      ready_[index] = true;
      return;
    case FrameKind::kGo:
      go_ = true;
      return;
    case FrameKind::kShare:
      answered_[index] = true;
      refused_[index] = frame.status == static_cast<std::int32_t>(NodeMemory::kRefused);
      links_.is_crowded |= frame.status == static_cast<std::int32_t>(NodeMemory::kCrowded);
      if (refused_[index] && links_.warning.empty()) {
        links_.warning = fmt::format("{}: {}", name(line.rank), frame.text);
      }
      return;
    case FrameKind::kNodes:
      if (leads()) return;
      nodes_ = frame.text;
      links_.is_crowded = frame.status != 0;
      return;
    case FrameKind::kFail:
      throw CommError(frame.status, frame.text, {});
    case FrameKind::kBye:
      throw CommError(DT_E_PEER, name(line.rank) + " left while the ring was formed", {});
  }
}

void RendezvousState::tell_all(const Frame& frame) {
  const std::string bytes = encode(frame);
  for (ControlLine& line : links_.control) send_now(line.channel, bytes);
}

void RendezvousState::fail_all(const CommError& error) {
  tell_all({FrameKind::kFail, error.dt_status(), identity_.rank, 0, error.what()});
  throw error;
}

void RendezvousState::check_deadline(const std::string& what, const std::vector<int>& missing) {
  const auto patience = leads() ? Clock::duration::zero() : Clock::duration(kLeaderVerdictDelay);
  if (Clock::now() < deadline_ + patience) return;
  check_encryption();
  std::vector<std::string> names;
  for (const int rank : missing) names.push_back(name(rank));
  std::string reason = fmt::format("{} {}", fmt::join(names, ", "), what), hint;
  if (const std::string strangers = acceptor_ ? acceptor_->strangers() : ""; !strangers.empty()) {
    reason += fmt::format("; meanwhile {}", strangers);
    hint = fmt::format("on the host they come from: ss -tnp dport = :{}",
                       local_address(acceptor_->fd()).port());
  }
  throw CommError(DT_E_TIMEOUT, fmt::format("cannot form the ring within {} ms", place_.timeout_ms),
                  reason, hint);
}

std::vector<int> RendezvousState::ranks_without(const std::vector<bool>& done) const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!done[i]) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

Links meet(const Identity& identity, MeetingPlace place) {
  const auto silence = place.silence;
  Links links = RendezvousState(identity, place).run();
  for (const ControlLine& line : links.control) {
    send_without_delay(line.channel.fd());
    notice_dead_hosts(line.channel.fd(), silence);
  }
  return links;
}

}  // namespace dtl::ring
