#pragma once
// CloudTalk: the conversation with one cloud's metadata service about whether this node is about to
// be taken away. A round is one question or a few, and a new round begins every few seconds. Pure,
// without a socket or a clock, so that tests can play all three clouds. metadata_client.h carries
// the questions, notice_watch.h starts the rounds.

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/library.h"
#include "plan/request/cloud.h"

namespace dtl {

Library json_library();  // for --version -v

// `host` is for the Host header alone: every request goes to metadata_service().
struct MetadataRequest {
  std::string method, host, path;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Only what a CloudTalk looks at. body: up to 64 KiB.
struct MetadataAnswer {
  int status = 0;
  bool of_google = false;  // says so in a header
  std::string body;
};

struct CloudNotice {
  std::string told_by;  // "aws: terminate", for the user
  // Until the node goes: what the cloud said, or its least notice where that cannot be right.
  std::chrono::milliseconds left{};
};

class CloudTalk {
 public:
  explicit CloudTalk(Cloud cloud) : cloud_(cloud) {}  // one of the three

  // The first request of a round.
  MetadataRequest begin();
  // Takes the answer to the last request; nullopt: none came in time. Returns the next request of
  // this round; nullopt: the round is over. now: seconds since 1970, since clouds give dates.
  std::optional<MetadataRequest> take(const std::optional<MetadataAnswer>& answer, std::time_t now);

  // What the round has shown, after take() has had no more requests.
  bool answers() const { return answers_; }  // as this cloud does
  const std::optional<CloudNotice>& notice() const { return notice_; }

 private:
  std::optional<MetadataRequest> take_aws(const MetadataAnswer& answer, std::time_t now);
  std::optional<MetadataRequest> take_azure(const MetadataAnswer& answer, std::time_t now);
  void take_gcp(const MetadataAnswer& answer);
  MetadataRequest ask_token();
  MetadataRequest ask_action() const;

  Cloud cloud_;
  std::string token_;  // of AWS; empty: to be had first
  bool asks_token_ = false;
  // A new token was asked for in this round. A service that refuses every token is asked no
  // further.
  bool renewed_ = false;
  std::string name_;  // of this machine in Azure's events; empty: to be asked first
  bool answers_ = false;
  std::optional<CloudNotice> notice_;
};

// What AWS says of an instance that is to go: {"action": "terminate", "time":
// "2017-09-18T08:22:00Z"}. nullopt: the body says something else.
std::optional<CloudNotice> read_instance_action(std::string_view body, std::time_t now);

// The first of Azure's scheduled events that takes the machine of that name away; nullopt: none
// does. valid: set to whether the body is such a list, since an empty list proves the service, too.
std::optional<CloudNotice> read_scheduled_events(std::string_view body, const std::string& machine,
                                                 std::time_t now, bool& valid);

}  // namespace dtl
