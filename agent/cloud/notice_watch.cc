// Tries the clouds in turn until one answers, then asks only that one. The watch never gives up: a
// service may come up late, and a notice is worth the cost of asking.
#include "agent/cloud/notice_watch.h"

#include <ctime>
#include <utility>
#include <vector>

#include "agent/cloud/metadata_client.h"
#include "base/limits.h"

namespace dtl {
namespace {

// Rounds without an answer before the user is told. One lost answer is not worth a message.
constexpr int kRoundsInVain = 3;

std::vector<CloudTalk> talks_with(Cloud cloud) {
  std::vector<CloudTalk> talks;
  for (const Cloud each : {Cloud::kAws, Cloud::kGcp, Cloud::kAzure}) {
    if (cloud == each || cloud == Cloud::kAuto) talks.emplace_back(each);
  }
  return talks;
}

// By pointer, as coroutines take parameters by value. The talk outlives the round.
awaitable<void> go_round(asio::io_context& context, CloudTalk* talk,
                         asio::ip::tcp::endpoint service) {
  std::optional<MetadataRequest> request = talk->begin();
  while (request) {
    const std::optional<MetadataAnswer> answer = co_await ask_metadata(context, service, *request);
    request = talk->take(answer, std::time(nullptr));
  }
}

std::string nobody(Cloud cloud) {
  const std::string name = cloud_name(cloud);
  const std::string whose = cloud == Cloud::kAuto ? "a cloud" : name;
  return "--spot " + name + ": no metadata service of " + whose +
         " answers here; no notice comes from this host until one does";
}

}  // namespace

asio::ip::tcp::endpoint metadata_service() {
  constexpr std::uint32_t kLinkLocal = 0xA9FEA9FE;  // 169.254.169.254
  return {asio::ip::address_v4(kLinkLocal), 80};
}

awaitable<void> watch_notices(asio::io_context& context, Cloud cloud,
                              asio::ip::tcp::endpoint service, NoticeListeners listeners) {
  std::vector<CloudTalk> talks = talks_with(cloud);
  asio::steady_timer pause(context);
  int in_vain = 0;
  for (;;) {
    bool answered = false;
    for (std::size_t i = 0; i < talks.size() && !answered; ++i) {
      co_await go_round(context, &talks[i], service);
      if (talks[i].notice()) {
        listeners.leaving(*talks[i].notice());
        co_return;
      }
      answered = talks[i].answers();
      // A node has one cloud, so the others are dropped. The talk is moved out first, because
      // assign() destroys the elements.
      if (answered && talks.size() > 1) {
        const CloudTalk found = std::move(talks[i]);
        talks.assign(1, found);
      }
    }
    in_vain = answered ? 0 : in_vain + 1;
    if (in_vain == kRoundsInVain) listeners.say(nobody(cloud));
    // If nobody answers, each question takes the full timeout, so ask rarely.
    pause.expires_after(in_vain < kRoundsInVain ? kMetadataPeriod : kMetadataAbsent);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

}  // namespace dtl
