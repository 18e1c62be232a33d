// One deadline holds for all steps together, from the first call on: connect_timeout_ms promises
// that. Each step names the ranks that it waits for.
#include "ring/meeting/rendezvous.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ring/common/comm_error.h"
#include "ring/common/descriptors.h"
#include "ring/common/socket.h"
#include "ring/meeting/members.h"
#include "ring/meeting/node_sharing.h"

namespace dtl::ring {
namespace {

// Connections that come at the same moment. Linux cuts it to net.core.somaxconn; callers beyond it
// come again.
constexpr int kBacklog = 1024;

// One rank's part of it: the steps, in order.
class Rendezvous {
 public:
  Rendezvous(std::unique_ptr<Identity> identity, MeetingPlace& place)
      : place_(place),
        identity_(std::move(identity)),
        members_(*identity_),
        lines_(members_, place.timeout_ms,
               [this](int rank, const Frame& frame) { hear(rank, frame); }),
        sharing_(members_, lines_, place.memory),
        joined_(members_.infos.size()),
        ready_(members_.infos.size()) {}

  Links run();

 private:
  void listen_at(Fd listener);
  void listen_as_leader(const std::vector<Address>& addresses);
  void join_leader(const std::vector<Address>& addresses);
  Channel call(int rank, const std::vector<Address>& addresses);
  void join_parent(const Frame& parent);
  void gather_members();
  void receive_table();
  void build_links();
  bool links_all() const { return members_.infos.size() <= links_.settings.most_linked; }
  void agree();
  void hear(int rank, const Frame& frame);

  MeetingPlace& place_;
  std::unique_ptr<Identity> identity_;
  Members members_;
  MeetingLines lines_;
  NodeSharing sharing_;
  std::vector<bool> joined_, ready_;  // by rank
  std::optional<Address> here_;       // where rank 0 was reached from
  std::string table_;
  Links links_;
};

Links Rendezvous::run() {
  // A listener of the program knows best where it listens; the name may have other addresses as
  // well.
  const auto addresses = place_.listener.valid()
                             ? std::vector{local_address(place_.listener.get())}
                             : resolve(place_.master_address, place_.master_port);
  // Rank 0 could listen there, but the others cannot connect to it.
  if (addresses.front().is_unspecified()) {
    throw CommError(DT_E_INVAL, place_.master_address + ": cannot meet there",
                    "it stands for every address, not for rank 0's host", "hostname -I");
  }
  const int rank = members_.identity.rank;
  const std::size_t world = members_.infos.size();
  provide_descriptors(members_.leads() ? world - 1 : 1, fmt::format("cannot meet {} ranks", world));
  try {
    if (members_.leads()) {
      listen_as_leader(addresses);
      gather_members();
      // Only when all have joined: the table is complete or is not sent.
      if (!links_all()) lines_.make_tree(links_.settings.fan_out);
      lines_.publish({FrameKind::kTable, 0, 0, 0, encode_table(links_.settings, members_.infos)});
    } else {
      join_leader(addresses);
      receive_table();
    }
    links_.map = sharing_.agree();
    if (links_all()) build_links();
    agree();
  } catch (const CommError& error) {
    // Each rank passes it on in this way: its own failure, which follows, tells the others.
    lines_.send({FrameKind::kFail, error.dt_status(), rank, 0, error.what()});
    throw;
  }
  for (const PeerInfo& member : members_.infos) links_.hosts.push_back(member.host);
  links_.own_address = members_.own().address->host();
  MeetingLines::Outcome outcome = lines_.take();
  links_.control = std::move(outcome.lines);
  links_.early = std::move(outcome.early);
  links_.local = sharing_.local();
  links_.is_crowded = sharing_.is_crowded();
  links_.warning = sharing_.warning();
  if (!links_all()) {
    const LateLinks::Settings settings{
        links_.settings.streams, std::chrono::milliseconds(place_.timeout_ms), place_.silence};
    links_.late = std::make_unique<LateLinks>(std::move(identity_), std::move(members_.infos),
                                              std::move(outcome.acceptor),
                                              std::move(outcome.callers), settings);
  }
  return std::move(links_);
}

void Rendezvous::listen_at(Fd listener) {
  members_.own() = {local_address(listener.get()), place_.host_name, place_.node, place_.share};
  lines_.accept(std::move(listener));
}

void Rendezvous::listen_as_leader(const std::vector<Address>& addresses) {
  Fd listener = std::move(place_.listener);
  for (std::size_t i = 0; i < addresses.size() && !listener.valid(); ++i) {
    try {
      listener = listen_on(addresses[i], kBacklog);
    } catch (const CommError&) {
      if (i + 1 == addresses.size()) throw;  // a name may have addresses of other hosts as well
    }
  }
  listen_at(std::move(listener));
  joined_[0] = true;
  links_.settings = place_.settings;
}

// Its control line.
Channel Rendezvous::call(int rank, const std::vector<Address>& addresses) {
  Connector connector(members_.identity, rank, Stream::kControl, addresses);
  Channel channel = connector.step();
  while (!channel.valid()) {
    if (Clock::now() >= lines_.deadline()) {
      // Waiting longer would not mend a wrong secret, so its status is not that of a timeout.
      const int status = connector.last_status() == DT_E_AUTH ? DT_E_AUTH : DT_E_TIMEOUT;
      throw CommError(
          status,
          fmt::format("cannot reach {} within {} ms", members_.name(rank), place_.timeout_ms),
          connector.last_reason());
    }
    lines_.turn({&connector});
    channel = connector.step();
  }
  return channel;
}

void Rendezvous::join_leader(const std::vector<Address>& addresses) {
  Channel channel = call(0, addresses);
  // The interface that reaches rank 0 most likely reaches the others, too. Unless the user names
  // another one, this rank listens there.
  here_ = local_address(channel.fd());
  const Address address =
      place_.own_address.empty() ? here_->with_port(0) : resolve(place_.own_address, 0).front();
  listen_at(listen_on(address, kBacklog));
  const int rank = members_.identity.rank;
  send_now(channel, encode({FrameKind::kJoin, 0, rank, 0, encode_peer(members_.own())}));
  lines_.add(0, std::move(channel));
}

void Rendezvous::join_parent(const Frame& parent) {
  if (parent.rank < 0 || parent.rank >= members_.identity.rank) {
    throw CommError(DT_E_SYS, "cannot join the ring", "rank 0 named a parent that does not exist");
  }
  PeerInfo& info = members_.infos[static_cast<std::size_t>(parent.rank)];
  info = decode_peer(parent.text, *here_);
  lines_.add(parent.rank, call(parent.rank, {*info.address}));
}

void Rendezvous::gather_members() {
  for (;;) {
    std::vector<int> missing = Members::without(joined_);
    // These have called and cannot join. check_encryption() names them.
    std::erase_if(missing, [&](int rank) { return lines_.differs(rank); });
    if (missing.empty()) break;
    lines_.check_deadline(fmt::format("did not join at {}", members_.own().address->text()),
                          missing);
    lines_.turn();
  }
  lines_.check_encryption();
}

void Rendezvous::receive_table() {
  while (table_.empty()) {
    lines_.check_deadline("did not send the table of ranks", {0});
    if (const auto parent = lines_.take_parent()) join_parent(*parent);
    lines_.turn();
  }
  decode_table(table_, *here_, links_.settings, members_.infos);
}

// Only now is it known how many ranks share memory, and so need no connection.
void Rendezvous::build_links() {
  const std::size_t others = members_.infos.size() - links_.map.locals().size();
  const std::size_t streams = links_.settings.streams;
  provide_descriptors(
      others * (kLanes - 1 + streams),
      fmt::format("{}: cannot connect to {} ranks", members_.name(members_.identity.rank), others));
  LinkBuilder builder(members_, streams, std::chrono::milliseconds::zero());
  for (int peer = 0; peer < links_.map.world; ++peer) {
    if (links_.map.is_local(peer)) continue;
    for (const Lane lane : {Lane::kSmall, Lane::kBulk, Lane::kPair}) builder.want(peer, lane);
  }
  for (;;) {
    for (Caller& caller : lines_.take_callers()) builder.admit(std::move(caller));
    for (auto& made : builder.step()) links_.made.push_back(std::move(made));
    const auto delay = builder.longest();
    if (!delay) return;
    lines_.check_deadline(delay->reason, delay->peers);
    lines_.turn(builder.active());
  }
}

void Rendezvous::agree() {
  if (members_.leads()) {
    ready_[0] = true;
    for (auto missing = Members::without(ready_); !missing.empty();
         missing = Members::without(ready_)) {
      lines_.check_deadline("did not link up with their peers", missing);
      lines_.turn();
    }
    return lines_.publish({FrameKind::kGo, 0, 0, 0, {}});
  }
  lines_.send_up({FrameKind::kReady, 0, members_.identity.rank, 0, {}});
  while (!lines_.has_gone()) {
    lines_.check_deadline("did not say that all links exist", {0});
    lines_.turn();
  }
}

void Rendezvous::hear(int rank, const Frame& frame) {
  const auto index = static_cast<std::size_t>(rank);
  switch (frame.kind) {
    case FrameKind::kJoin:
      if (!members_.leads()) return;
      members_.infos[index] = decode_peer(frame.text, *members_.own().address);
      joined_[index] = true;
      return;
    case FrameKind::kTable:
      if (!members_.leads()) table_ = frame.text;
      return;
    case FrameKind::kReady:
      ready_[index] = true;
      return;
    case FrameKind::kShare:
    case FrameKind::kNodes:
      return sharing_.hear(rank, frame);
    case FrameKind::kGo:
    case FrameKind::kFail:
    case FrameKind::kBye:
    case FrameKind::kParent:
      return;  // the lines have taken those
  }
}

}  // namespace

Links meet(std::unique_ptr<Identity> identity, MeetingPlace place) {
  const auto silence = place.silence;
  Links links = Rendezvous(std::move(identity), place).run();
  for (const ControlLine& line : links.control) {
    send_without_delay(line.channel.fd());
    // For the time after the meeting, which has had a deadline of its own.
    notice_dead_hosts(line.channel.fd(), silence);
  }
  return links;
}

}  // namespace dtl::ring
