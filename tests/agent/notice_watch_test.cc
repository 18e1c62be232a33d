#include "agent/cloud/notice_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/limits.h"
#include "wire/task_group.h"

// The watch over real sockets, with fake services on loopback.

namespace dtl::notice_watch_test {
namespace {

using namespace std::chrono_literals;

// A service: maps each request's bytes to an answer; an empty answer means never.
class Service {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit Service(Answer answer) : answer_(std::move(answer)) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener_.get(), address, size) != 0 || ::listen(listener_.get(), 8) != 0 ||
        ::getsockname(listener_.get(), address, &size) != 0) {
      ADD_FAILURE() << "no port on loopback";
    }
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Service() {
    ends_ = true;
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  asio::ip::tcp::endpoint endpoint() const { return {asio::ip::address_v4::loopback(), port_}; }

 private:
  void serve() {
    while (!ends_) {
      pollfd caller{listener_.get(), POLLIN, 0};
      if (::poll(&caller, 1, 20) != 1) continue;
      Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const std::string text = answer_(read_request(socket));
      if (text.empty()) {
        hung_.push_back(std::move(socket));
      } else {
        EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
      }
    }
  }
  static std::string read_request(const Fd& socket) {
    std::string text;
    char piece[4096];
    while (text.find("\r\n\r\n") == text.npos) {
      const ssize_t got = ::recv(socket.get(), piece, sizeof piece, 0);
      if (got <= 0) break;
      text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
  }

  const Answer answer_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::list<Fd> hung_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

std::string http(const std::string& status, const std::string& body,
                 const std::string& header = "") {
  return "HTTP/1.1 " + status + "\r\n" + header + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// Answers like each cloud; the notice appears at the second look.
std::string as_aws(const std::string& request, std::atomic<int>& looks) {
  if (request.starts_with("PUT /latest/api/token ")) return http("200 OK", "token");
  if (!request.starts_with("GET /latest/meta-data/spot/")) return http("404 Not Found", "");
  if (request.find("metadata-token: token\r\n") == request.npos) return http("401 No", "");
  if (looks++ == 0) return http("404 Not Found", "");
  if (looks == 2) return http("401 No", "");  // expired: the watch fetches a new one at once
  return http("200 OK", R"({"action": "stop", "time": "x"})");
}

std::string as_gcp(const std::string& request, std::atomic<int>& looks) {
  if (request.find("Metadata-Flavor: Google\r\n") == request.npos) return http("403 No", "");
  if (!request.starts_with("GET /computeMetadata/v1/instance/preempted "))
    return http("404 Not Found", "", "Metadata-Flavor: Google\r\n");
  return http("200 OK", looks++ == 0 ? "FALSE" : "TRUE", "Metadata-Flavor: Google\r\n");
}

std::string as_azure(const std::string& request, std::atomic<int>& looks) {
  if (request.find("Metadata: true\r\n") == request.npos) return http("400 Bad", "");
  if (request.starts_with("GET /metadata/instance/compute/name?")) return http("200 OK", "vm");
  if (!request.starts_with("GET /metadata/scheduledevents?")) return http("404 Not Found", "");
  if (looks++ == 0) return http("200 OK", R"({"Events": []})");
  return http("200 OK", R"({"Events": [{"EventType": "Preempt", "Resources": ["vm"]}]})");
}

struct Heard {
  std::string notice, said;
};

NoticeListeners listener(Heard& heard) {
  return {[&heard](const CloudNotice& notice) { heard.notice = notice.told_by; },
          [&heard](const std::string& text) { heard.said += text + "\n"; }};
}

TEST(NoticeWatch, FindsOutWhichCloudItIsAndHearsItsNotice) {
  std::atomic<int> looks[3] = {0, 0, 0};
  Service aws([&](const std::string& request) { return as_aws(request, looks[0]); });
  Service gcp([&](const std::string& request) { return as_gcp(request, looks[1]); });
  Service azure([&](const std::string& request) { return as_azure(request, looks[2]); });
  asio::io_context context;
  Heard heard[3];
  run_tasks(context, [&](TaskGroup& tasks) {
    tasks.spawn(watch_notices(context, Cloud::kAuto, aws.endpoint(), listener(heard[0])));
    tasks.spawn(watch_notices(context, Cloud::kAuto, gcp.endpoint(), listener(heard[1])));
    tasks.spawn(watch_notices(context, Cloud::kAzure, azure.endpoint(), listener(heard[2])));
  });
  EXPECT_EQ(heard[0].notice, "aws: stop");
  EXPECT_EQ(heard[1].notice, "gcp: preempted");
  EXPECT_EQ(heard[2].notice, "azure: Preempt");
  for (const Heard& each : heard) EXPECT_EQ(each.said, "");
}

// Such services do not delay the agent, and the user learns once that no notice will come.
TEST(NoticeWatch, AServiceThatHangsOrIsAbsentOrIsNoneCostsNothing) {
  Service hangs([](const std::string&) { return std::string(); });
  Service noise([](const std::string&) { return std::string("220 mail ready\r\n"); });
  Service huge([](const std::string&) { return http("200 OK", std::string(100'000, 'x')); });
  asio::ip::tcp::endpoint absent;
  {
    const Service gone([](const std::string&) { return std::string(); });
    absent = gone.endpoint();
  }
  asio::io_context context;
  Heard heard[4];
  TaskGroup tasks(context);
  const asio::ip::tcp::endpoint services[] = {hangs.endpoint(), noise.endpoint(), huge.endpoint(),
                                              absent};
  for (int i = 0; i < 4; ++i) {
    tasks.spawn(watch_notices(context, Cloud::kAuto, services[i], listener(heard[i])));
  }
  const auto all_said = [&] {
    for (const Heard& each : heard) {
      if (each.said.empty()) return false;
    }
    return true;
  };
  const auto begin = std::chrono::steady_clock::now();
  while (!all_said() && std::chrono::steady_clock::now() < begin + 60s) {
    context.run_one_for(100ms);
  }
  for (const Heard& each : heard) {
    EXPECT_EQ(each.notice, "");
    EXPECT_EQ(each.said,
              "--spot auto: no metadata service of a cloud answers here; no notice comes "
              "from this host until one does\n");
  }
}

}  // namespace
}  // namespace dtl::notice_watch_test
