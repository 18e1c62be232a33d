// Hosts that feed each other, over loopback: good seeders, and those that lie, stall and die.
#include "agent/entrance/push_peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/entrance/push_seeder.h"
#include "base/error.h"

namespace dtl::push_peers_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::size_t kPiece = 1000;
constexpr std::size_t kBefore = 70'000;  // dtagent

void nothing() {}

std::string bytes_of(std::size_t count, unsigned seed) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(seed = seed * 75 + 74);
  return bytes;
}

class PushPeers : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "push_peers.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directories(folder_ + "/there");
    std::filesystem::create_directories(folder_ + "/here");
    std::string rest;
    for (const auto& [file, size] : std::vector<std::pair<std::string, std::size_t>>{
             {"dtagent", kBefore}, {"dtguard", 2500}, {"dttrain", 300'001}}) {
      const std::string bytes = bytes_of(size, static_cast<unsigned>(size));
      std::ofstream(folder_ + "/there/" + file) << bytes;
      promised_.push_back({file, size, sha256_hex(bytes)});
      if (file != "dtagent") rest += bytes;
    }
    pieces_.ticket = std::string(32, 'a');
    pieces_.pieces.bytes = kPiece;
    for (std::size_t at = 0; at < rest.size(); at += kPiece) {
      pieces_.pieces.sums.push_back(sha256_hex(std::string_view(rest).substr(at, kPiece)));
    }
    rest_ = rest;
  }
  void TearDown() override {
    if (until_ > 0) end_until();
    while (::waitpid(-1, nullptr, 0) > 0) continue;  // the seeder ends, or this test hangs
    std::filesystem::remove_all(folder_);
  }

  SeederWork work() {
    until_ = ::fork();
    if (until_ == 0) {
      ::pause();
      ::_exit(0);
    }
    SeederWork work;
    work.address = "127.0.0.1";
    work.ticket = pieces_.ticket;
    work.until = until_;
    work.idle = 60s;
    for (const PromisedFile& file : promised_) {
      work.files.emplace_back(::open((folder_ + "/there/" + file.name).c_str(), O_RDONLY));
    }
    return work;
  }
  void end_until() {
    ::kill(until_, SIGKILL);
    ::waitpid(until_, nullptr, 0);
    until_ = -1;
  }
  ArrivingFiles arriving() {
    return ArrivingFiles(folder_ + "/here", std::span(promised_).subspan(1));
  }
  std::string contents(const std::string& file) const {
    std::ifstream input(folder_ + "/here/" + file);
    return {std::istreambuf_iterator<char>(input), {}};
  }
  std::string failure(std::uint16_t port, ArrivingFiles& files) {
    try {
      fetch_from("127.0.0.1", port, pieces_, kBefore, files, nothing);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kIo);
      return error.reason();
    }
    return "";
  }
  static Fd connect_to(std::uint16_t port) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  std::string fetch_agent(std::uint16_t port, const std::string& ticket) {
    const Fd socket = connect_to(port);
    write_all(socket.get(), ticket + " 0000000000000000\n");  // as the shell does
    std::string got(kBefore, '\0');
    const ssize_t count = ::recv(socket.get(), got.data(), got.size(), MSG_WAITALL);
    return got.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }

  std::string folder_, rest_;
  std::vector<PromisedFile> promised_;
  PushPieces pieces_;
  pid_t until_ = -1;
};

// A seeder of the test's own, for one caller.
class OddSeeder {
 public:
  OddSeeder() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_.get(), 1);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  // Sends these bytes to a caller, in place of what it asks for. Then ends the connection.
  void send_once(const std::string& bytes) {
    thread_ = std::jthread([this, bytes] {
      const Fd caller(::accept(listener_.get(), nullptr, nullptr));
      std::array<char, 50> request{};
      ::recv(caller.get(), request.data(), request.size(), MSG_WAITALL);
      write_all(caller.get(), bytes);
    });
  }
  std::uint16_t port = 0;

 private:
  Fd listener_;
  std::jthread thread_;
};

TEST_F(PushPeers, FetchFromASeederWhatTheyLack) {
  const auto port = start_seeder(work());
  ASSERT_TRUE(port);
  ArrivingFiles files = arriving();
  files.add(std::string_view(rest_).substr(0, 3 * kPiece));  // from another seeder that stopped
  fetch_from("127.0.0.1", *port, pieces_, kBefore, files, nothing);
  EXPECT_EQ(contents("dtguard") + contents("dttrain"), rest_);
}

TEST_F(PushPeers, FetchFromOneSeederAtTheSameTime) {
  const auto port = start_seeder(work());
  ASSERT_TRUE(port);
  std::filesystem::create_directories(folder_ + "/other");
  std::jthread other([&] {
    ArrivingFiles files(folder_ + "/other", std::span(promised_).subspan(1));
    fetch_from("127.0.0.1", *port, pieces_, kBefore, files, nothing);
  });
  ArrivingFiles files = arriving();
  fetch_from("127.0.0.1", *port, pieces_, kBefore, files, nothing);
  EXPECT_EQ(files.have(), rest_.size());
}

TEST_F(PushPeers, GetNothingWithoutTheTicket) {
  const auto port = start_seeder(work());
  ASSERT_TRUE(port);
  pieces_.ticket.back() = 'b';
  ArrivingFiles files = arriving();
  EXPECT_THAT(failure(*port, files), HasSubstr("the connection ended"));
  EXPECT_EQ(files.have(), 0u);
}

TEST_F(PushPeers, GiveDtagentToAShell) {
  const auto port = start_seeder(work());
  ASSERT_TRUE(port);
  EXPECT_EQ(sha256_hex(fetch_agent(*port, pieces_.ticket)), promised_[0].sha256);
}

TEST_F(PushPeers, ReadARequestOfTheirPushAlone) {
  const std::string& ticket = pieces_.ticket;
  const std::string request = seeder_request(ticket, 0x123456789abcdef0);
  EXPECT_EQ(read_seeder_request(request, ticket), 0x123456789abcdef0);
  for (std::size_t i = 0; i < request.size(); ++i) {
    std::string other = request;
    other[i] = 'x';
    EXPECT_FALSE(read_seeder_request(other, ticket)) << i;
    EXPECT_FALSE(read_seeder_request(request.substr(0, i), ticket)) << i;
  }
}

TEST_F(PushPeers, FindALieInItsPieceAndKeepWhatCameBefore) {
  SeederWork lying = work();
  std::fstream file(folder_ + "/there/dttrain", std::ios::in | std::ios::out);
  file.seekp(5000);  // byte 7500 of what is fetched
  file << "lie";
  file.close();
  const auto port = start_seeder(std::move(lying));
  ASSERT_TRUE(port);
  ArrivingFiles files = arriving();
  EXPECT_THAT(failure(*port, files), HasSubstr("not what was promised"));
  EXPECT_EQ(files.have(), 7 * kPiece);
}

TEST_F(PushPeers, KeepWholePiecesOfASeederThatDies) {
  OddSeeder seeder;
  seeder.send_once(rest_.substr(0, 4321));
  ArrivingFiles files = arriving();
  EXPECT_THAT(failure(seeder.port, files), HasSubstr("the connection ended"));
  EXPECT_EQ(files.have(), 4 * kPiece);
}

TEST_F(PushPeers, GiveUpASeederThatIsSilent) {
  const OddSeeder seeder;  // accepts nobody: the kernel does, and nothing comes
  ArrivingFiles files = arriving();
  EXPECT_THAT(failure(seeder.port, files), HasSubstr("no more bytes"));
}

TEST_F(PushPeers, LearnThatNobodyListens) {
  std::uint16_t port = 0;
  { port = OddSeeder().port; }
  ArrivingFiles files = arriving();
  EXPECT_THAT(failure(port, files), HasSubstr("refused"));
}

TEST_F(PushPeers, SeedUntilTheLoginEnds) {
  const auto port = start_seeder(work());
  ASSERT_TRUE(port);
  end_until();
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);  // the seeder is this process's only other child
}

TEST_F(PushPeers, SeedUntilNobodyComes) {
  SeederWork brief = work();
  brief.idle = 50ms;
  ASSERT_TRUE(start_seeder(std::move(brief)));
  EXPECT_NE(::waitpid(-1, nullptr, 0), until_);
}

TEST_F(PushPeers, SeedOnThePortsOfTheRangeAlone) {
  const OddSeeder taken;
  SeederWork narrow = work();
  narrow.low = narrow.high = taken.port;
  EXPECT_FALSE(start_seeder(std::move(narrow)));
}

TEST_F(PushPeers, ReadChecksumsThatFitTheFiles) {
  std::string line = fmt::format("pieces {} {}", kPiece, pieces_.ticket);
  for (const std::string& sum : pieces_.pieces.sums) line += " " + sum;
  const PushPieces read = parse_push_pieces(line, rest_.size());
  EXPECT_EQ(read.ticket, pieces_.ticket);
  EXPECT_EQ(read.pieces.sums, pieces_.pieces.sums);
  EXPECT_THROW(parse_push_pieces(line, rest_.size() + kPiece), Error);
  EXPECT_THROW(parse_push_pieces(line.substr(0, line.size() - 1), rest_.size()), Error);
  EXPECT_THROW(parse_push_pieces("pieces 0" + line.substr(11), rest_.size()), Error);
  EXPECT_THROW(parse_push_pieces("", 0), Error);
}

}  // namespace
}  // namespace dtl::push_peers_test
