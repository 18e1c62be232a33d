#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "launcher/trainjob/status_post.h"
#include "launcher/trainjob/status_server.h"
#include "launcher/trainjob/trainjob_reporter.h"
#include "launcher/trainjob/trainjob_status.h"

namespace dtl::trainjob_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::time_t kWall = 1'800'000'000;  // 2027-01-15 08:00

std::optional<StatusServer> find(const std::map<std::string, std::string>& variables) {
  return find_status_server([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string reason_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(StatusServer, IsOffWithoutItsVariable) {
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({{kStatusUrl, ""}, {kStatusToken, "/token"}}));
  EXPECT_FALSE(
      find({{kStatusUrl, "https://a/b"}, {kStatusToken, "/token"}, {kNoKubeflow, "True"}}));
}

TEST(StatusServer, ComesFromTheVariables) {
  const auto server =
      find({{kStatusUrl, "https://trainer.kubeflow-system.svc:10443/apis/jobs/bert/status?a=b#top"},
            {kStatusToken, "/var/run/token"},
            {kStatusCa, "/var/run/ca.crt"},
            {kNoKubeflow, "false"}});
  ASSERT_TRUE(server);
  EXPECT_TRUE(server->tls);
  EXPECT_EQ(server->host, "trainer.kubeflow-system.svc");
  EXPECT_EQ(server->port, 10443);
  EXPECT_EQ(server->target, "/apis/jobs/bert/status?a=b");
  EXPECT_EQ(server->token_file, "/var/run/token");
  EXPECT_EQ(server->ca_file, "/var/run/ca.crt");
}

TEST(StatusServer, HasTheUsualPortsAndPath) {
  EXPECT_EQ(parse_status_url("https://a").port, 443);
  EXPECT_EQ(parse_status_url("HTTP://a?x").port, 80);
  EXPECT_EQ(parse_status_url("HTTP://a?x").target, "/?x");
  EXPECT_FALSE(parse_status_url("http://a").tls);
  EXPECT_EQ(parse_status_url("https://[fd00::1]:8443/s").host, "fd00::1");
  EXPECT_EQ(parse_status_url("https://[fd00::1]:8443/s").port, 8443);
}

TEST(StatusServer, RefusesWhatIsNoUrlWithoutShowingIt) {
  for (const char* url :
       {"SECRET", "ftp://SECRET/", "https://", "https:///SECRET", "https://user:SECRET@a/",
        "https://a:SECRET/", "https://a:0/", "https://a:65536/", "https://a:/",
        "https://[::1/SECRET", "https://a/SECRET\r\nX: y", "https://a/SECRET x",
        "https://a\xc3\xa4/SECRET"}) {
    const std::string said = reason_of([&] { (void)parse_status_url(url); });
    EXPECT_THAT(said, HasSubstr("KUBEFLOW_TRAINER_SERVER_URL: ")) << url;
    EXPECT_THAT(said, Not(HasSubstr("SECRET"))) << url;
  }
  EXPECT_THAT(reason_of([] { (void)parse_status_url("https://a/" + std::string(3000, 'x')); }),
              HasSubstr("too long"));
  EXPECT_THAT(reason_of([] {
                (void)find({{kStatusUrl, "https://a"}});
              }),
              HasSubstr("KUBEFLOW_TRAINER_SERVER_TOKEN: not set"));
}

TEST(StatusServer, TakesNoTokenThatAddsALine) {
  EXPECT_TRUE(is_valid_token("eyJhbGciOi.J9-_~+/="));
  EXPECT_FALSE(is_valid_token(""));
  EXPECT_FALSE(is_valid_token("a\r\nHost: b"));
  EXPECT_FALSE(is_valid_token("a b"));
}

TEST(StatusServer, WritesARequest) {
  const std::string text = status_request(parse_status_url("https://[::1]:8443/s"), "abc", "{}");
  EXPECT_TRUE(text.starts_with("POST /s HTTP/1.1\r\nHost: [::1]:8443\r\n")) << text;
  EXPECT_THAT(text, HasSubstr("\r\nAuthorization: Bearer abc\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nContent-Length: 2\r\n"));
  EXPECT_TRUE(text.ends_with("\r\n\r\n{}")) << text;
  EXPECT_THAT(status_request(parse_status_url("https://a/"), "abc", ""),
              HasSubstr("\r\nHost: a\r\n"));
}

TEST(StatusServer, ReadsTheStatusOfAnswers) {
  EXPECT_EQ(http_status("HTTP/1.1 200 OK\r\n"), 200);
  EXPECT_EQ(http_status("HTTP/1.0 403\r\n"), 403);
  EXPECT_EQ(http_status("HTTP/1.1 204"), 204);
  for (const char* answer : {"", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 -20 OK", "HTTP/2 200",
                             "HTTP/1.1200 OK", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 099 x"}) {
    EXPECT_EQ(http_status(answer), std::nullopt) << answer;
  }
}

// ---- what is told

RankReport report(std::uint64_t step, std::uint64_t total, double loss = 0.5) {
  RankReport told;
  told.progress = {step, total, step * 100, loss};
  return told;
}

nlohmann::json parsed(const std::string& text) {
  return nlohmann::json::parse(text).at("trainerStatus");
}

std::string metric(const nlohmann::json& status, const std::string& name) {
  for (const auto& each : status.at("metrics")) {
    if (each.at("name") == name) return each.at("value");
  }
  return "";
}

TEST(TrainJobStatus, IsSilentUntilARankTellsItsSteps) {
  TrainJobStatus status;
  status.add({}, 1);
  status.add(report(3, 0), 2);
  EXPECT_FALSE(status.has_news());
  EXPECT_FALSE(status.last_text(true, kWall));
}

TEST(TrainJobStatus, TellsShareTimeAndMetrics) {
  TrainJobStatus status;
  status.add(report(10, 100), 10);
  ASSERT_TRUE(status.has_news());
  auto first = parsed(status.text(10, kWall));
  EXPECT_EQ(first.at("progressPercentage"), 10);
  EXPECT_FALSE(first.contains("estimatedRemainingSeconds"));
  EXPECT_EQ(first.at("lastUpdatedTime"), "2027-01-15T08:00:00Z");
  EXPECT_FALSE(status.has_news());
  status.add(report(10, 100), 12);
  EXPECT_FALSE(status.has_news());
  // 19 steps in 38 seconds; steps of an earlier run do not count.
  status.add(report(29, 100, 0.125), 48);
  ASSERT_TRUE(status.has_news());
  const auto second = parsed(status.text(48, kWall));
  EXPECT_EQ(second.at("progressPercentage"), 29);
  EXPECT_EQ(second.at("estimatedRemainingSeconds"), 142);
  EXPECT_EQ(metric(second, "loss"), "0.125");
  EXPECT_EQ(metric(second, "current_step"), "29");
  EXPECT_EQ(metric(second, "total_steps"), "100");
  EXPECT_EQ(metric(second, "tokens_per_second"), "50");
}

TEST(TrainJobStatus, IsCompleteOnlyOnceTheJobHasSucceeded) {
  TrainJobStatus status;
  status.add(report(1, 2), 1);
  status.add(report(2, 2), 2);
  EXPECT_EQ(parsed(status.text(2, kWall)).at("progressPercentage"), 99);
  const auto good = parsed(*status.last_text(true, kWall));
  EXPECT_EQ(good.at("progressPercentage"), 100);
  EXPECT_EQ(good.at("estimatedRemainingSeconds"), 0);
  const auto bad = parsed(*status.last_text(false, kWall));
  EXPECT_EQ(bad.at("progressPercentage"), 99);
  EXPECT_FALSE(bad.contains("estimatedRemainingSeconds"));
}

TEST(TrainJobStatus, FollowsARestartAndASecondTraining) {
  TrainJobStatus status;
  status.add(report(50, 100), 50);
  status.restart();
  EXPECT_EQ(parsed(*status.last_text(false, kWall)).at("progressPercentage"), 50);
  status.add(report(40, 100), 100);
  status.add(report(45, 100), 110);
  EXPECT_EQ(parsed(status.text(110, kWall)).at("estimatedRemainingSeconds"), 110);
  status.add(report(1, 10), 120);
  const auto next = parsed(status.text(120, kWall));
  EXPECT_EQ(next.at("progressPercentage"), 10);
  EXPECT_FALSE(next.contains("estimatedRemainingSeconds"));
}

TEST(TrainJobStatus, StaysWithinBoundsWhateverRanksTell) {
  TrainJobStatus status;
  status.add(report(0, UINT64_MAX, std::nan("")), 0);
  status.add(report(1, UINT64_MAX, std::nan("")), 1e9);
  const auto slow = parsed(status.text(1e9, kWall));
  EXPECT_EQ(slow.at("progressPercentage"), 0);
  EXPECT_EQ(slow.at("estimatedRemainingSeconds"), 2147483647);
  EXPECT_EQ(metric(slow, "loss"), "");
  status.add(report(UINT64_MAX, 1, INFINITY), 2e9);
  EXPECT_EQ(parsed(status.text(2e9, kWall)).at("progressPercentage"), 99);
  EXPECT_EQ(parsed(status.text(2e9, kWall)).at("estimatedRemainingSeconds"), 0);
}

TEST(PostPace, PostsEveryFiveSecondsAndSeldomerWhileItFails) {
  PostPace pace;
  EXPECT_EQ(pace.next(), 0);
  pace.posted(1, true);
  EXPECT_EQ(pace.next(), 6);
  EXPECT_FALSE(pace.has_failed());
  pace.posted(6, false);
  EXPECT_EQ(pace.next(), 16);
  EXPECT_TRUE(pace.has_failed());
  for (int i = 0; i < 20; ++i) pace.posted(100, false);
  EXPECT_EQ(pace.next(), 400);
  pace.posted(400, true);
  EXPECT_EQ(pace.next(), 405);
}

// ---- posts, without TLS; e2e.trainjob has a server with certificates

// A server on loopback that takes one request for each of these answers and gives it.
class Answering {
 public:
  explicit Answering(std::vector<std::string> answers, bool closes = true)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, all = std::move(answers), closes] {
      for (const std::string& answer : all) serve(answer, closes);
    });
  }
  ~Answering() { thread_.join(); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/s"; }
  void wait_for_answer() { answered_.acquire(); }

 private:
  void serve(const std::string& answer, bool closes) {
    const Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char room[4096];
    std::string seen;
    while (!seen.ends_with("}")) {
      const ssize_t count = ::read(client.get(), room, sizeof room);
      if (count <= 0) return;
      seen.append(room, static_cast<std::size_t>(count));
    }
    (void)!::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    if (closes) ::shutdown(client.get(), SHUT_WR);
    answered_.release();
    while (::read(client.get(), room, sizeof room) > 0) {
    }
  }

  const Fd socket_;
  int port_ = 0;
  std::counting_semaphore<4> answered_{0};
  std::thread thread_;
};

class StatusPost : public testing::Test {
 protected:
  StatusPost() {
    std::string name = testing::TempDir() + "trainjob.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    write("token", "TOKEN-1\n");
  }
  ~StatusPost() override {
    for (const std::string& path : files_) ::unlink(path.c_str());
    ::rmdir(folder_.c_str());
  }

  std::string write(const char* name, const std::string& text) {
    files_.push_back(folder_ + "/" + name);
    const Fd file(::open(files_.back().c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
    write_all(file.get(), text);
    return files_.back();
  }

  // "" if the server has taken it.
  std::string post(StatusServer server,
                   std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    if (server.token_file.empty()) server.token_file = folder_ + "/token";
    try {
      post_status(server, "{}", std::chrono::steady_clock::now() + patience);
    } catch (const Error& error) {
      return error.reason();
    }
    return "";
  }
  std::string answered(const std::string& answer) {
    const Answering server({answer});
    return post(parse_status_url(server.url()));
  }

  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(StatusPost, SucceedsWithAnyStatusOfSuccess) {
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "");
  EXPECT_EQ(answered("HTTP/1.1 204 No Content\r\n\r\n"), "");
}

TEST_F(StatusPost, FollowsNoRedirectAndShowsNothingOfTheAnswer) {
  EXPECT_EQ(answered("HTTP/1.1 302 TOKEN-1\r\nLocation: http://127.0.0.1:1/TOKEN-1\r\n\r\nTOKEN-1"),
            "HTTP status 302");
  EXPECT_EQ(answered("SSH-2.0-TOKEN-1\r\n\r\n"), "the answer is not HTTP");
  EXPECT_EQ(answered(""), "the answer is not HTTP");
}

TEST_F(StatusPost, ReadsNoMoreThanTheHeadOfAnAnswer) {
  const Answering server({"HTTP/1.1 200 OK\r\nX: " + std::string(20000, 'x')}, false);
  EXPECT_EQ(post(parse_status_url(server.url())), "");
}

TEST_F(StatusPost, SaysWhyThereIsNoConnection) {
  EXPECT_EQ(post(parse_status_url("http://127.0.0.1:1/")), "Connection refused");
}

TEST_F(StatusPost, GivesUpAtTheDeadline) {
  const Answering server({"HTTP/1.1 200 OK\r\n"}, false);
  EXPECT_EQ(post(parse_status_url(server.url()), std::chrono::milliseconds(100)),
            "no answer in time");
}

TEST_F(StatusPost, NamesTheVariableAndNotTheValueOfABadToken) {
  StatusServer server = parse_status_url("http://127.0.0.1:1/");
  server.token_file = "/SECRET";
  EXPECT_EQ(post(server),
            "KUBEFLOW_TRAINER_SERVER_TOKEN names a file that cannot be read: No such file or "
            "directory");
  server.token_file = write("bad", "SECRET\nSECRET\n");
  EXPECT_EQ(post(server), "KUBEFLOW_TRAINER_SERVER_TOKEN names a file without a token");
  server.token_file = folder_ + "/pipe";
  files_.push_back(server.token_file);
  ASSERT_EQ(::mkfifo(server.token_file.c_str(), 0600), 0);
  EXPECT_EQ(post(server),
            "KUBEFLOW_TRAINER_SERVER_TOKEN names a file that cannot be read: not a file");
}

TEST_F(StatusPost, NamesTheVariableOfBadCertificates) {
  StatusServer server = parse_status_url("https://127.0.0.1:1/");
  server.ca_file = write("ca", "nothing\n");
  EXPECT_THAT(post(server),
              HasSubstr("KUBEFLOW_TRAINER_SERVER_CA_CERT names a file without certificates: "));
  server.ca_file = "/SECRET";
  EXPECT_THAT(post(server), Not(HasSubstr("SECRET")));
}

TEST_F(StatusPost, OfAJobThatToldNothingIsNeverMade) {
  StatusServer server = parse_status_url("http://127.0.0.1:1/");
  server.token_file = "/none";
  TrainJobReporter reporter(server);
  int told = 0;
  SessionHooks hooks;
  hooks.seen = [&](const RankReport&) { ++told; };
  hooks = reporter.watching(std::move(hooks));
  hooks.seen({});
  EXPECT_EQ(told, 1);
  testing::internal::CaptureStderr();
  reporter.ended(0);
  reporter.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(StatusPost, TellsAFailureAndThatItIsOver) {
  Answering answering({"HTTP/1.1 503 Away\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"});
  StatusServer server = parse_status_url(answering.url());
  server.token_file = folder_ + "/token";
  testing::internal::CaptureStderr();
  TrainJobReporter reporter(server);
  reporter.watching({}).seen(report(1, 2));
  answering.wait_for_answer();
  reporter.ended(0);
  reporter.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("cannot post the TrainJob's status: "));
  EXPECT_THAT(said, testing::EndsWith(": the TrainJob's status is posted again\n"));
}

}  // namespace
}  // namespace dtl::trainjob_test
