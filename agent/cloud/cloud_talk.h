#pragma once
// CloudTalk: asks one cloud's metadata service whether this node will be taken away. A round is one
// or more requests; a new round begins every few seconds. Pure, without socket or clock, so tests
// can play all three clouds. metadata_client.h sends the requests, notice_watch.h starts the
// rounds.

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

// `host` is only for the Host header: every request goes to metadata_service().
struct MetadataRequest {
  std::string method, host, path;
  std::vector<std::pair<std::string, std::string>> headers;
};

// The parts that a CloudTalk reads. body: at most 64 KiB.
struct MetadataAnswer {
  int status = 0;
  bool of_google = false;  // a header says that Google's service answered
  std::string body;
};

struct CloudNotice {
  std::string told_by;  // "aws: terminate", for the user
  // Until the node is taken away: as the notice says, or the cloud's shortest if that is invalid.
  std::chrono::milliseconds left{};
};

class CloudTalk {
 public:
  explicit CloudTalk(Cloud cloud) : cloud_(cloud) {}  // one of the three

  // The first request of a round.
  MetadataRequest begin();
  // Takes the answer to the last request; nullopt: no answer in time. Returns the next request of
  // this round; nullopt: the round is over. now: seconds since 1970, as clouds send dates.
  std::optional<MetadataRequest> take(const std::optional<MetadataAnswer>& answer, std::time_t now);

  // The result of the round, once take() returns no more requests.
  bool answers() const { return answers_; }  // as this cloud does
  const std::optional<CloudNotice>& notice() const { return notice_; }

 private:
  std::optional<MetadataRequest> take_aws(const MetadataAnswer& answer, std::time_t now);
  std::optional<MetadataRequest> take_azure(const MetadataAnswer& answer, std::time_t now);
  void take_gcp(const MetadataAnswer& answer);
  MetadataRequest ask_token();
  MetadataRequest ask_action() const;

  Cloud cloud_;
  std::string token_;  // AWS's; empty: ask for it first
  bool asks_token_ = false;
  // This round asked for a new token. If the service refuses that too, the round ends.
  bool renewed_ = false;
  std::string name_;  // this machine's in Azure's events; empty: ask for it first
  bool answers_ = false;
  std::optional<CloudNotice> notice_;
};

// AWS's notice for an instance: {"action": "terminate", "time": "2017-09-18T08:22:00Z"}.
// nullopt: the body says something else.
std::optional<CloudNotice> read_instance_action(std::string_view body, std::time_t now);

// The first of Azure's scheduled events that takes the named machine away; nullopt: none does.
// valid: set to whether the body is an event list; an empty list proves that Azure answered.
std::optional<CloudNotice> read_scheduled_events(std::string_view body, const std::string& machine,
                                                 std::time_t now, bool& valid);

}  // namespace dtl
