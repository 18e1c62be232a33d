// Every wait ends, and a failure of another host is only a reason to ask the launcher again.
#include "agent/entrance/push_peers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/entrance/peer_socket.h"
#include "agent/entrance/push_seeder.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kPeerStall = 3s;    // no byte from a seeder for this long
constexpr std::chrono::milliseconds kSeederIdle = 10s;  // a host of a later round asks before that
constexpr std::chrono::milliseconds kAtPause = 3s;      // between two lines; kPushStall is 15 s
constexpr std::size_t kSumDigits = 64;
constexpr std::int64_t kMostPieceBytes = 16 << 20;
constexpr std::size_t kLongestOrder = 128;  // "from ADDRESS PORT"

void say_push(const std::string& text) {
  write_all(STDOUT_FILENO, fmt::format("{}{}\n", kPushMarker, text));
}

bool is_hexadecimal(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Error not_of_push() {
  return Error(Exit::kIo, "cannot take programs", "the launcher's line is not one of a push");
}

void read_input(std::span<char> room) {
  while (!room.empty()) {
    const ssize_t count = ::read(STDIN_FILENO, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw Error(Exit::kIo, "cannot read programs", "the launcher left");
    room = room.subspan(static_cast<std::size_t>(count));
  }
}

Error no_seeder(const std::string& address, const char* reason) {
  return Error(Exit::kIo, address + ": cannot fetch programs", reason);
}

Fd connect_to_seeder(const std::string& address, std::uint16_t port) {
  const auto peer = peer_address(address, port);
  if (!peer) throw no_seeder(address, "not an address");
  Fd socket(::socket(peer->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) throw no_seeder(address, std::strerror(errno));
  // The timeout for sending also limits connect(2), see socket(7).
  set_peer_waits(socket.get(), kPeerStall);
  if (::connect(socket.get(), peer->get(), peer->size) != 0) {
    throw no_seeder(address, errno == EINPROGRESS ? "no answer" : std::strerror(errno));
  }
  return socket;
}

// One line of standard input, without the newline; reads no byte after it, which may be a program's
// or the agent's.
std::string read_push_line(std::size_t longest) {
  std::string line;
  for (char next = 0; line.size() <= longest; line += next) {
    read_input({&next, 1});
    if (next == '\n') return line;
  }
  throw not_of_push();
}

}  // namespace

PushPieces parse_push_pieces(const std::string& line, std::size_t total) {
  const std::vector<std::string> words = split(line, ' ');
  const auto bytes = words.size() > 3 ? parse_integer(words[1], 1, kMostPieceBytes) : std::nullopt;
  if (!bytes || words[0] != "pieces") throw not_of_push();
  PushPieces push;
  push.ticket = words[2];
  push.pieces.bytes = static_cast<std::size_t>(*bytes);
  push.pieces.sums.assign(words.begin() + 3, words.end());
  const std::size_t expected = (total + push.pieces.bytes - 1) / push.pieces.bytes;
  bool fits = push.pieces.sums.size() == expected && is_hexadecimal(push.ticket, kTicketDigits);
  for (const std::string& sum : push.pieces.sums) fits &= is_hexadecimal(sum, kSumDigits);
  if (!fits) throw not_of_push();
  return push;
}

void fetch_from(const std::string& address, std::uint16_t port, const PushPieces& pieces,
                std::size_t before, ArrivingFiles& files, const std::function<void()>& progress) {
  const Fd socket = connect_to_seeder(address, port);
  const std::string request = seeder_request(pieces.ticket, before + files.have());
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    throw no_seeder(address, std::strerror(errno));
  }
  const auto read = [&](std::span<char> room) {
    while (!room.empty()) {
      const ssize_t count = ::recv(socket.get(), room.data(), room.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) throw no_seeder(address, "the connection ended");
      if (count < 0 && errno == EAGAIN) throw no_seeder(address, "no more bytes come");
      if (count < 0) throw no_seeder(address, std::strerror(errno));
      room = room.subspan(static_cast<std::size_t>(count));
    }
  };
  take_pieces(files, pieces.pieces, read, progress);
}

PushPieces receive_from_peers(ArrivingFiles& files, std::size_t before) {
  say_push("send 0");
  // With pieces of at least 1 KiB, a longer line is not the launcher's.
  const std::size_t longest = 512 + files.total() / 1024 * (kSumDigits + 1);
  PushPieces pieces = parse_push_pieces(read_push_line(longest), files.total());
  auto next = std::chrono::steady_clock::now() + kAtPause;
  const auto progress = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now < next) return;
    next = now + kAtPause;
    say_push(fmt::format("at {}", files.have()));
  };
  while (files.have() < files.total()) {
    const std::string order = read_push_line(kLongestOrder);
    const std::vector<std::string> words = split(order, ' ');
    const auto port = words.size() == 3 ? parse_integer(words[2], 1, 65535) : std::nullopt;
    if (order == "here") {
      take_pieces(files, pieces.pieces, read_input, progress);
    } else if (port && words[0] == "from") {
      try {
        fetch_from(words[1], static_cast<std::uint16_t>(*port), pieces, before, files, progress);
      } catch (const Error& error) {
        if (error.status() != Exit::kIo) throw;
        say_push(fmt::format("send {} {}", files.have(), printable(error.reason())));
      }
    } else {
      throw not_of_push();
    }
  }
  return pieces;
}

void seed_to_peers(const std::string& peers, const std::string& folder,
                   std::span<const PromisedFile> files, std::string ticket) {
  // "CLIENT PORT SERVER PORT", of sshd.
  const char* login = std::getenv("SSH_CONNECTION");
  const std::vector<std::string> words = split(login == nullptr ? "" : login, ' ');
  if (words.size() != 4 || words[2].starts_with("127.") || words[2] == "::1") return;
  SeederWork work;
  work.address = words[2];
  const std::size_t range = peers.find('=');
  if (range != std::string::npos) {
    const std::vector<std::string> ports = split(peers.substr(range + 1), '-');
    const auto low = parse_integer(ports.front(), 1, 65535);
    const auto high = parse_integer(ports.back(), 1, 65535);
    if (!low || !high) return;
    work.low = static_cast<std::uint16_t>(*low);
    work.high = static_cast<std::uint16_t>(*high);
  }
  for (const PromisedFile& file : files) {
    work.files.emplace_back(::open((folder + "/" + file.name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!work.files.back().valid()) return;
  }
  work.ticket = std::move(ticket);
  // The shell of the login, which becomes the agent.
  work.until = ::getppid();
  work.idle = kSeederIdle;
  const std::string address = work.address;
  if (const auto port = start_seeder(std::move(work))) {
    say_push(fmt::format("seeds {} {}", address, *port));
  }
}

}  // namespace dtl
