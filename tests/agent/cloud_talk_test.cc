#include "agent/cloud/cloud_talk.h"

#include <gtest/gtest.h>

namespace dtl::cloud_talk_test {
namespace {

using namespace std::chrono_literals;

constexpr std::time_t kNow = 1505722800;  // 2017-09-18T08:20:00Z

MetadataAnswer answer(int status, const std::string& body = {}) {
  return {status, false, body};
}

std::string header(const MetadataRequest& request, const std::string& name) {
  for (const auto& [each, value] : request.headers) {
    if (each == name) return value;
  }
  return "";
}

// One AWS round. It asks for a token first if there is none.
std::optional<MetadataRequest> ask_aws(CloudTalk& talk) {
  MetadataRequest request = talk.begin();
  if (request.method != "PUT") return request;
  EXPECT_EQ(request.path, "/latest/api/token");
  EXPECT_EQ(header(request, "X-aws-ec2-metadata-token-ttl-seconds"), "21600");
  return talk.take(answer(200, "first\n"), kNow);
}

TEST(AwsTalk, AsksForATokenOnceAndShowsItThen) {
  CloudTalk talk(Cloud::kAws);
  for (int round = 0; round < 2; ++round) {
    const auto request = ask_aws(talk);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->method + " " + request->path, "GET /latest/meta-data/spot/instance-action");
    EXPECT_EQ(header(*request, "X-aws-ec2-metadata-token"), "first");
    EXPECT_FALSE(talk.take(answer(404), kNow));
    EXPECT_TRUE(talk.answers());
    EXPECT_FALSE(talk.notice());
  }
  EXPECT_EQ(talk.begin().method, "GET");
}

TEST(AwsTalk, GetsAnotherTokenWhenItsOwnHasRunOutAndDoesNotGoInCircles) {
  CloudTalk talk(Cloud::kAws);
  ask_aws(talk);
  const auto again = talk.take(answer(401), kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->method, "PUT");
  const auto request = talk.take(answer(200, "second"), kNow);
  ASSERT_TRUE(request);
  EXPECT_EQ(header(*request, "X-aws-ec2-metadata-token"), "second");
  EXPECT_FALSE(talk.take(answer(401), kNow)) << "once a round";
  EXPECT_FALSE(talk.answers());
}

TEST(AwsTalk, IsToldWhatHappensAndWhen) {
  CloudTalk talk(Cloud::kAws);
  ask_aws(talk);
  talk.take(answer(200, R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})"), kNow);
  ASSERT_TRUE(talk.notice());
  EXPECT_EQ(talk.notice()->told_by, "aws: terminate");
  EXPECT_EQ(talk.notice()->left, 120s);
}

TEST(AwsTalk, GarbageIsNoNotice) {
  for (const char* body :
       {"", "{", "[]", "null", R"({"action": 7})", R"({"action": "noop"})", "<html>", "\xff\xfe"}) {
    EXPECT_FALSE(read_instance_action(body, kNow)) << body;
  }
  CloudTalk talk(Cloud::kAws);
  talk.begin();
  EXPECT_FALSE(talk.take(answer(200, "two\r\nlines: x"), kNow)) << "no such token is sent";
  EXPECT_FALSE(talk.take(std::nullopt, kNow));
  EXPECT_FALSE(talk.answers());
}

TEST(AwsTalk, ATimeThatCannotBeRightIsTakenForTheUsualTwoMinutes) {
  for (const char* time : {"", "soon", "2017-09-18T08:19:00Z", "2031-01-01T00:00:00Z",
                           "2017-09-18T08:22:00Z and more"}) {
    const auto notice =
        read_instance_action(R"({"action": "stop", "time": ")" + std::string(time) + "\"}", kNow);
    ASSERT_TRUE(notice) << time;
    EXPECT_EQ(notice->left, 120s) << time;
  }
}

TEST(GcpTalk, IsGoogleOnlyIfItSaysSo) {
  CloudTalk talk(Cloud::kGcp);
  const MetadataRequest request = talk.begin();
  EXPECT_EQ(request.path, "/computeMetadata/v1/instance/preempted");
  EXPECT_EQ(header(request, "Metadata-Flavor"), "Google");
  EXPECT_FALSE(talk.take(answer(200, "TRUE"), kNow));
  EXPECT_FALSE(talk.answers());
  EXPECT_FALSE(talk.notice());
  talk.begin();
  talk.take(MetadataAnswer{200, true, "FALSE"}, kNow);
  EXPECT_TRUE(talk.answers());
  EXPECT_FALSE(talk.notice());
  talk.begin();
  talk.take(MetadataAnswer{200, true, "TRUE\n"}, kNow);
  ASSERT_TRUE(talk.notice());
  EXPECT_EQ(talk.notice()->left, 30s);
}

std::string event(const std::string& type, const std::string& machine, const std::string& before) {
  return R"({"DocumentIncarnation": 2, "Events": [{"EventId": "x", "EventStatus": "Scheduled",
      "EventType": ")" +
         type + R"(", "ResourceType": "VirtualMachine", "Resources": [")" + machine +
         R"("], "NotBefore": ")" + before + "\"}]}";
}

TEST(AzureTalk, MindsEventsOfItsOwnMachineAlone) {
  CloudTalk talk(Cloud::kAzure);
  const MetadataRequest name = talk.begin();
  EXPECT_EQ(header(name, "Metadata"), "true");
  const auto events = talk.take(answer(200, "vm_7"), kNow);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->path, "/metadata/scheduledevents?api-version=2020-07-01");
  const std::string before = "Mon, 18 Sep 2017 08:20:40 GMT";
  talk.take(answer(200, event("Preempt", "vm_8", before)), kNow);
  EXPECT_TRUE(talk.answers());
  EXPECT_FALSE(talk.notice());
  EXPECT_EQ(talk.begin().path, events->path) << "its name is known";
  talk.take(answer(200, event("Freeze", "vm_7", before)), kNow);
  EXPECT_FALSE(talk.notice());
  talk.begin();
  talk.take(answer(200, event("Preempt", "VM_7", before)), kNow);
  ASSERT_TRUE(talk.notice());
  EXPECT_EQ(talk.notice()->told_by, "azure: Preempt");
  EXPECT_EQ(talk.notice()->left, 40s);
}

TEST(AzureTalk, GarbageIsNoListOfEvents) {
  for (const char* body : {"", "{}", "[]", R"({"Events": 1})", R"({"Events": [1, {}, null]})"}) {
    bool valid = true;
    EXPECT_FALSE(read_scheduled_events(body, "vm", kNow, valid)) << body;
  }
}

}  // namespace
}  // namespace dtl::cloud_talk_test
