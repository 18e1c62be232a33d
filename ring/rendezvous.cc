#include "ring/rendezvous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ring/acceptor.h"
#include "ring/comm_error.h"
#include "ring/connector.h"
#include "ring/socket.h"

namespace dtl::ring {
namespace {

constexpr int kTick_ms = 20;  // deadlines are looked at this often while nothing arrives
// Rank 0 knows who is missing, so the others wait a little longer for it to say so.
constexpr auto kVerdictDelay = std::chrono::seconds(2);
constexpr int kBacklog = 256;  // ranks that connect at the same moment

struct Member {
  std::optional<Address> address;  // where it listens
  std::string host;
};

// A member as text: family, address and port in network order, then the host name.
std::string encode_member(const Address& address, const std::string& host) {
  std::string text(1, address.family() == AF_INET6 ? '6' : '4');
  const auto* at = address.get();
  if (address.family() == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(at);
    text.append(reinterpret_cast<const char*>(&in6->sin6_addr), 16);
    text.append(reinterpret_cast<const char*>(&in6->sin6_port), 2);
  } else {
    const auto* in4 = reinterpret_cast<const sockaddr_in*>(at);
    text.append(reinterpret_cast<const char*>(&in4->sin_addr), 4);
    text.append(reinterpret_cast<const char*>(&in4->sin_port), 2);
  }
  return text + host;
}

// own: this rank's address, whose interface is where link-local addresses are looked for.
Member decode_member(std::string_view text, const Address& own) {
  const bool is_v6 = !text.empty() && text[0] == '6';
  const std::size_t address_bytes = is_v6 ? 16 : 4;
  if (text.size() < 1 + address_bytes + 2) {
    throw CommError(DT_E_SYS, "cannot join the ring", "a rank's address is garbled");
  }
  const char* address = text.data() + 1;
  const char* port = address + address_bytes;
  Member member;
  member.host = text.substr(1 + address_bytes + 2);
  if (is_v6) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    std::memcpy(&in6.sin6_addr, address, 16);
    std::memcpy(&in6.sin6_port, port, 2);
    if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) && own.family() == AF_INET6) {
      in6.sin6_scope_id = reinterpret_cast<const sockaddr_in6*>(own.get())->sin6_scope_id;
    }
    member.address = Address(reinterpret_cast<const sockaddr*>(&in6), sizeof in6);
  } else {
    sockaddr_in in4{};
    in4.sin_family = AF_INET;
    std::memcpy(&in4.sin_addr, address, 4);
    std::memcpy(&in4.sin_port, port, 2);
    member.address = Address(reinterpret_cast<const sockaddr*>(&in4), sizeof in4);
  }
  return member;
}

class Meeting {
 public:
  Meeting(const Identity& identity, const MeetingPlace& place)
      : identity_(identity),
        place_(place),
        deadline_(Clock::now() + std::chrono::milliseconds(place.timeout_ms)),
        members_(static_cast<std::size_t>(identity.world)) {}

  Links run();

 private:
  bool leads() const { return identity_.rank == 0; }
  int next() const { return (identity_.rank + 1) % identity_.world; }
  int previous() const { return (identity_.rank + identity_.world - 1) % identity_.world; }
  std::string name(int rank) const;

  void listen_as_leader(const std::vector<Address>& addresses);
  void join_leader(const std::vector<Address>& addresses);
  void gather_members();
  void publish_table();
  void receive_table();
  void link_up();
  void agree();

  void poll_once(const Connector* connector);
  void admit(Caller caller);
  void admit_control(Caller caller);
  void read_control();
  void handle(ControlLine& line, const Frame& frame);
  void tell_all(const Frame& frame);
  [[noreturn]] void fail_all(const CommError& error);
  void check_deadline(const std::string& what, const std::vector<int>& missing);
  std::vector<int> ranks_without(const std::vector<bool>& done) const;

  const Identity& identity_;
  const MeetingPlace& place_;
  Clock::time_point deadline_;
  std::optional<Acceptor> acceptor_;
  std::vector<Member> members_;
  std::vector<bool> joined_ = std::vector<bool>(members_.size()), ready_ = joined_;
  std::string table_;
  bool go_ = false;
  Links links_;
};

std::string Meeting::name(int rank) const {
  const std::string& host = members_[static_cast<std::size_t>(rank)].host;
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

Links Meeting::run() {
  const auto addresses = resolve(place_.master_address, place_.master_port);
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
    link_up();
    agree();
  } catch (const CommError& error) {
    fail_all(error);
  }
  for (const Member& member : members_) links_.hosts.push_back(member.host);
  return std::move(links_);
}

void Meeting::listen_as_leader(const std::vector<Address>& addresses) {
  for (std::size_t i = 0; i < addresses.size() && !acceptor_; ++i) {
    try {
      acceptor_.emplace(identity_, listen_on(addresses[i], kBacklog));
    } catch (const CommError&) {
      if (i + 1 == addresses.size()) throw;  // a name may have addresses of other hosts as well
    }
  }
  members_[0] = {local_address(acceptor_->fd()), place_.host_name};
  joined_[0] = true;
}

void Meeting::join_leader(const std::vector<Address>& addresses) {
  Connector connector(identity_, 0, Stream::kControl, addresses);
  Fd fd = connector.step();
  while (!fd.valid()) {
    if (Clock::now() >= deadline_) {
      const int status = connector.last_status() == DT_E_AUTH ? DT_E_AUTH : DT_E_TIMEOUT;
      throw CommError(status, fmt::format("cannot reach rank 0 within {} ms", place_.timeout_ms),
                      connector.last_reason());
    }
    poll_once(&connector);
    fd = connector.step();
  }
  const Address own = place_.own_address.empty() ? local_address(fd.get()).with_port(0)
                                                 : resolve(place_.own_address, 0).front();
  acceptor_.emplace(identity_, listen_on(own, kBacklog));
  const Address listening = local_address(acceptor_->fd());
  members_[static_cast<std::size_t>(identity_.rank)] = {listening, place_.host_name};
  send_now(fd.get(), encode({FrameKind::kJoin, 0, identity_.rank, 0,
                             encode_member(listening, place_.host_name)}));
  links_.control.push_back({0, std::move(fd), {}, true});
}

void Meeting::gather_members() {
  for (auto missing = ranks_without(joined_); !missing.empty(); missing = ranks_without(joined_)) {
    check_deadline(fmt::format("did not join at {}", members_[0].address->text()), missing);
    poll_once(nullptr);
    read_control();
  }
}

void Meeting::publish_table() {
  std::string table;
  for (const Member& member : members_) {
    const std::string entry = encode_member(*member.address, member.host);
    table += static_cast<char>(entry.size() & 0xff);
    table += static_cast<char>(entry.size() >> 8);
    table += entry;
  }
  const std::string frame = encode({FrameKind::kTable, 0, 0, 0, table});
  for (const ControlLine& line : links_.control) send_until(line.fd.get(), frame, deadline_);
}

void Meeting::receive_table() {
  while (table_.empty()) {
    check_deadline("did not send the table of ranks", {0});
    poll_once(nullptr);
    read_control();
  }
  const Address own = local_address(links_.control[0].fd.get());
  std::string_view rest = table_;
  for (Member& member : members_) {
    const std::size_t bytes =
        rest.size() < 2 ? rest.size()
                        : static_cast<unsigned char>(rest[0]) +
                              (static_cast<std::size_t>(static_cast<unsigned char>(rest[1])) << 8);
    if (rest.size() < 2 + bytes) {
      throw CommError(DT_E_SYS, "cannot join the ring", "the table of ranks is garbled");
    }
    member = decode_member(rest.substr(2, bytes), own);
    rest.remove_prefix(2 + bytes);
  }
}

void Meeting::link_up() {
  const auto& member = members_[static_cast<std::size_t>(next())];
  Connector connector(identity_, next(), Stream::kData, {*member.address});
  while (!links_.to_next.valid() || !links_.from_previous.valid()) {
    if (!links_.to_next.valid()) links_.to_next = connector.step();
    if (links_.to_next.valid() && links_.from_previous.valid()) break;
    if (!links_.to_next.valid()) {
      check_deadline("cannot be reached at " + connector.last_reason(), {next()});
    } else {
      check_deadline("did not connect to " + name(identity_.rank), {previous()});
    }
    poll_once(links_.to_next.valid() ? nullptr : &connector);
    read_control();
  }
  ready_[static_cast<std::size_t>(identity_.rank)] = true;
}

void Meeting::agree() {
  if (leads()) {
    for (auto missing = ranks_without(ready_); !missing.empty(); missing = ranks_without(ready_)) {
      check_deadline("did not link up with their neighbours", missing);
      poll_once(nullptr);
      read_control();
    }
    tell_all({FrameKind::kGo, 0, 0, 0, {}});
    return;
  }
  tell_all({FrameKind::kReady, 0, identity_.rank, 0, {}});
  while (!go_) {
    check_deadline("did not say that the ring is complete", {0});
    poll_once(nullptr);
    read_control();
  }
}

void Meeting::poll_once(const Connector* connector) {
  std::vector<pollfd> set;
  if (acceptor_) acceptor_->add_to_poll(set);
  if (connector != nullptr) connector->add_to_poll(set);
  for (const ControlLine& line : links_.control) set.push_back({line.fd.get(), POLLIN, 0});
  (void)::poll(set.data(), set.size(), kTick_ms);
  if (!acceptor_) return;
  for (Caller& caller : acceptor_->step()) admit(std::move(caller));
}

void Meeting::admit(Caller caller) {
  if (caller.hello.stream == Stream::kControl) {
    if (leads()) admit_control(std::move(caller));
  } else if (caller.hello.from == previous() && !links_.from_previous.valid()) {
    links_.from_previous = std::move(caller.fd);
  }
}

void Meeting::admit_control(Caller caller) {
  const int from = caller.hello.from;
  if (caller.hello.world != identity_.world) {
    const CommError error(DT_E_MISMATCH, "cannot form the ring",
                          fmt::format("rank {} was started with a world of {}, rank 0 with {}",
                                      from, caller.hello.world, identity_.world));
    send_now(caller.fd.get(), encode({FrameKind::kFail, DT_E_MISMATCH, from, 0, error.what()}));
    throw error;
  }
  const auto is_same = [&](const ControlLine& line) { return line.rank == from; };
  if (std::any_of(links_.control.begin(), links_.control.end(), is_same)) {
    const std::string reason = fmt::format("cannot join: {} has already joined", name(from));
    send_now(caller.fd.get(), encode({FrameKind::kFail, DT_E_INVAL, from, 0, reason}));
    return;  // the first one stays
  }
  links_.control.push_back({from, std::move(caller.fd), {}, true});
}

void Meeting::read_control() {
  for (ControlLine& line : links_.control) {
    std::vector<Frame> frames;
    const LineState state = line.reader.read(line.fd.get(), frames);
    for (const Frame& frame : frames) {
      if (go_) {
        links_.early.push_back(frame);  // of the running ring, not of this meeting
      } else {
        handle(line, frame);
      }
    }
    if (state != LineState::kOpen && !go_) {
      throw CommError(DT_E_PEER, name(line.rank) + " was lost while the ring was formed",
                      state == LineState::kGarbled ? "it sent garbage" : "connection closed");
    }
  }
}

void Meeting::handle(ControlLine& line, const Frame& frame) {
  const auto index = static_cast<std::size_t>(line.rank);
  switch (frame.kind) {
    case FrameKind::kJoin:
      if (!leads()) return;
      members_[index] = decode_member(frame.text, *members_[0].address);
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
    case FrameKind::kFail:
      throw CommError(frame.status, frame.text, {});
    case FrameKind::kBye:
      throw CommError(DT_E_PEER, name(line.rank) + " left while the ring was formed", {});
  }
}

void Meeting::tell_all(const Frame& frame) {
  const std::string bytes = encode(frame);
  for (const ControlLine& line : links_.control) send_now(line.fd.get(), bytes);
}

void Meeting::fail_all(const CommError& error) {
  tell_all({FrameKind::kFail, error.dt_status(), identity_.rank, 0, error.what()});
  throw error;
}

void Meeting::check_deadline(const std::string& what, const std::vector<int>& missing) {
  const auto patience = leads() ? Clock::duration::zero() : Clock::duration(kVerdictDelay);
  if (Clock::now() < deadline_ + patience) return;
  std::vector<std::string> names;
  for (const int rank : missing) names.push_back(name(rank));
  throw CommError(DT_E_TIMEOUT, fmt::format("cannot form the ring within {} ms", place_.timeout_ms),
                  fmt::format("{} {}", fmt::join(names, ", "), what));
}

std::vector<int> Meeting::ranks_without(const std::vector<bool>& done) const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!done[i]) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

}  // namespace

Links meet(const Identity& identity, const MeetingPlace& place) {
  Links links = Meeting(identity, place).run();
  for (const ControlLine& line : links.control) {
    send_without_delay(line.fd.get());
    notice_dead_hosts(line.fd.get());
  }
  return links;
}

}  // namespace dtl::ring
