#include "launcher/join/join_seat.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

SeatAnswer refuse(std::string why) {
  return {std::nullopt, {JoinFrame::Kind::kRefused, std::move(why)}};
}

std::string quoted_job(const std::string& job) {
  return job.empty() ? std::string("no job of an engine") : fmt::format("job '{}'", job);
}

}  // namespace

SeatAnswer judge_hello(const ExpectedNodes& expected, const JoinHello& hello) {
  if (hello.protocol != kProtocol || hello.version != DTL_VERSION) {
    return refuse(fmt::format(
        "it is version {} (protocol {}), the job's dtlaunch is version {} (protocol {}); install "
        "the same version on both",
        hello.version, hello.protocol, DTL_VERSION, kProtocol));
  }
  if (hello.job != expected.job) {
    return refuse(fmt::format("it belongs to {}, this is {}", quoted_job(hello.job),
                              quoted_job(expected.job)));
  }
  if (hello.restart < expected.restart) {
    return refuse(fmt::format(
        "the engine has started the job again since: it is of start {}, this is start {}",
        hello.restart, expected.restart));
  }
  if (hello.restart > expected.restart) {
    return {std::nullopt,
            {JoinFrame::Kind::kComeAgain,
             fmt::format("the engine is ending start {} of the job", expected.restart)}};
  }
  if (!expected.names.empty()) {
    const auto at = std::find(expected.names.begin(), expected.names.end(), hello.name);
    if (at == expected.names.end()) {
      return refuse(fmt::format("no node of the job is called '{}'", hello.name));
    }
    return {static_cast<std::size_t>(at - expected.names.begin()), {}};
  }
  if (hello.rank < expected.first_rank || hello.rank >= expected.first_rank + expected.count) {
    return refuse(hello.rank < 0
                      ? std::string("it does not say which node of the job it is")
                      : fmt::format("no node {} comes to this job: it has {}, from 0 on",
                                    hello.rank,
                                    plural(expected.first_rank + expected.count, "node")));
  }
  return {static_cast<std::size_t>(hello.rank - expected.first_rank), {}};
}

}  // namespace dtl
