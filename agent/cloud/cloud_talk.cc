// The protocols of the three services. Outside a cloud anything may answer at this address, so an
// answer counts only if it has the form that this cloud promises.
#include "agent/cloud/cloud_talk.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

// The shortest notice that each cloud promises. Used if the time in the notice cannot be right by
// our clock: in the past, or more than kLongestLeft away.
constexpr milliseconds kAwsLeft = 120s;
constexpr milliseconds kGoogleLeft = 30s;
constexpr milliseconds kAzureLeft = 30s;
constexpr milliseconds kLongestLeft = 1h;

constexpr const char* kTokenLife = "21600";  // seconds; the maximum
// Far above any real token or name, as the answer may come from anybody.
constexpr std::size_t kMostToken = 4096;
constexpr std::size_t kMostName = 256;
constexpr const char* kAddress = "169.254.169.254";

constexpr const char* kIsoTime = "%Y-%m-%dT%H:%M:%SZ";
constexpr const char* kHttpTime = "%a, %d %b %Y %H:%M:%S GMT";

milliseconds time_left(const std::string& when, const char* form, std::time_t now,
                       milliseconds otherwise) {
  std::tm parts{};
  const char* end = ::strptime(when.c_str(), form, &parts);
  if (end == nullptr || *end != '\0') return otherwise;
  const milliseconds left = std::chrono::seconds(::timegm(&parts) - now);
  return left > 0ms && left <= kLongestLeft ? left : otherwise;
}

// Returns "" if the text is missing or the field has another type.
std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The body if it is one word of visible characters, else "". A token is sent back in a header,
// where a newline would begin another header.
std::string one_word(const std::string& body, std::size_t most) {
  const std::string word(trim(body));
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  const bool fits = word.size() <= most && std::all_of(word.begin(), word.end(), visible);
  return fits ? word : std::string();
}

// Whether events of this type take the machine away for good, or for longer than ranks can wait.
// Freeze does not: it pauses a machine for some seconds.
bool takes_away(const std::string& event_type) {
  return event_type == "Preempt" || event_type == "Terminate" || event_type == "Redeploy" ||
         event_type == "Reboot";
}

// Azure reports the events of a whole group of machines to each of them.
bool concerns(const Json& event, const std::string& machine) {
  const auto list = event.find("Resources");
  if (list == event.end() || !list->is_array()) return false;
  return std::any_of(list->begin(), list->end(), [&](const Json& name) {
    return name.is_string() && to_lower(name.get<std::string>()) == to_lower(machine);
  });
}

// Azure refuses requests without this header, and Google those without its own, to keep out
// requests that something else forwards.
MetadataRequest of_azure(const std::string& path) {
  return {"GET", kAddress, path, {{"Metadata", "true"}}};
}

}  // namespace

Library json_library() {
  return {"nlohmann-json", version_of(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                      NLOHMANN_JSON_VERSION_PATCH)};
}

std::optional<CloudNotice> read_instance_action(std::string_view body, std::time_t now) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const std::string action = text_of(json, "action");
  if (action != "terminate" && action != "stop" && action != "hibernate") return std::nullopt;
  return CloudNotice{"aws: " + action, time_left(text_of(json, "time"), kIsoTime, now, kAwsLeft)};
}

std::optional<CloudNotice> read_scheduled_events(std::string_view body, const std::string& machine,
                                                 std::time_t now, bool& valid) {
  const Json json = Json::parse(body, nullptr, false);
  valid = json.is_object() && json.contains("Events") && json["Events"].is_array();
  if (!valid) return std::nullopt;
  for (const Json& event : json["Events"]) {
    if (!event.is_object() || !concerns(event, machine)) continue;
    const std::string type = text_of(event, "EventType");
    if (!takes_away(type) || text_of(event, "EventStatus") == "Completed") continue;
    return CloudNotice{"azure: " + type,
                       time_left(text_of(event, "NotBefore"), kHttpTime, now, kAzureLeft)};
  }
  return std::nullopt;
}

MetadataRequest CloudTalk::ask_token() {
  asks_token_ = true;
  return {
      "PUT", kAddress, "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", kTokenLife}}};
}

MetadataRequest CloudTalk::ask_action() const {
  return {"GET",
          kAddress,
          "/latest/meta-data/spot/instance-action",
          {{"X-aws-ec2-metadata-token", token_}}};
}

MetadataRequest CloudTalk::begin() {
  answers_ = false;
  asks_token_ = false;
  renewed_ = false;
  notice_.reset();
  switch (cloud_) {
    case Cloud::kAws:
      return token_.empty() ? ask_token() : ask_action();
    case Cloud::kAzure:
      // Events name machines, so ask for our own name first.
      if (name_.empty()) {
        return of_azure("/metadata/instance/compute/name?api-version=2020-06-01&format=text");
      }
      return of_azure("/metadata/scheduledevents?api-version=2020-07-01");
    case Cloud::kGcp:
    case Cloud::kOff:
    case Cloud::kAuto:
      break;
  }
  return {"GET",
          "metadata.google.internal",
          "/computeMetadata/v1/instance/preempted",
          {{"Metadata-Flavor", "Google"}}};
}

std::optional<MetadataRequest> CloudTalk::take(const std::optional<MetadataAnswer>& answer,
                                               std::time_t now) {
  if (!answer) return std::nullopt;
  if (cloud_ == Cloud::kAws) return take_aws(*answer, now);
  if (cloud_ == Cloud::kAzure) return take_azure(*answer, now);
  take_gcp(*answer);
  return std::nullopt;
}

std::optional<MetadataRequest> CloudTalk::take_aws(const MetadataAnswer& answer, std::time_t now) {
  if (std::exchange(asks_token_, false)) {
    if (answer.status == 200) token_ = one_word(answer.body, kMostToken);
    if (token_.empty()) return std::nullopt;
    return ask_action();
  }
  if (answer.status == 401 && !std::exchange(renewed_, true)) {  // the token has expired
    token_.clear();
    return ask_token();
  }
  // With 404 the service says that no action is planned.
  answers_ = answer.status == 200 || answer.status == 404;
  if (answer.status == 200) notice_ = read_instance_action(answer.body, now);
  return std::nullopt;
}

void CloudTalk::take_gcp(const MetadataAnswer& answer) {
  // Without the header it may be any web server that answers 200 to everything.
  answers_ = answer.status == 200 && answer.of_google;
  if (answers_ && trim(answer.body) == "TRUE") {
    notice_ = CloudNotice{"gcp: preempted", kGoogleLeft};
  }
}

std::optional<MetadataRequest> CloudTalk::take_azure(const MetadataAnswer& answer,
                                                     std::time_t now) {
  if (answer.status != 200) return std::nullopt;
  if (name_.empty()) {
    name_ = one_word(answer.body, kMostName);
    if (name_.empty()) return std::nullopt;
    // Now that the name is known, ask for the events.
    return begin();
  }
  notice_ = read_scheduled_events(answer.body, name_, now, answers_);
  return std::nullopt;
}

}  // namespace dtl
