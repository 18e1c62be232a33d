#pragma once
// CloudTalk: what a node asks one cloud's metadata service to learn whether it is to go, and what
// it makes of the answers. A round is one question or a few, every few seconds. Pure: no socket;
// metadata_client.h carries the questions, notice_watch.h goes round.

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

struct MetadataRequest {
  std::string method, host, path;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct MetadataAnswer {
  int status = 0;
  bool of_google = false;  // says so in a header
  std::string body;
};

struct CloudNotice {
  std::string told_by;               // "aws: terminate", for the user
  std::chrono::milliseconds left{};  // until the node goes
};

class CloudTalk {
 public:
  explicit CloudTalk(Cloud cloud) : cloud_(cloud) {}  // one of the three

  // The first request of a round.
  MetadataRequest begin();
  // The answer to the last one, or none in time; the next of this round, if there is one. `now`:
  // by the wall clock.
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
  bool renewed_ = false;  // in this round
  std::string name_;      // of this machine in Azure's events; empty: to be asked first
  bool answers_ = false;
  std::optional<CloudNotice> notice_;
};

// What AWS says of an instance that is to go: {"action": "terminate", "time":
// "2017-09-18T08:22:00Z"}. Absent: it is not that.
std::optional<CloudNotice> read_instance_action(std::string_view body, std::time_t now);

// The first of Azure's scheduled events that takes the machine of that name away; absent: none.
// valid: whether it is such a list at all.
std::optional<CloudNotice> read_scheduled_events(std::string_view body, const std::string& machine,
                                                 std::time_t now, bool& valid);

}  // namespace dtl
