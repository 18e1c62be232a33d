// In place of dtpmix: speaks its frames with the agent and knows nothing of PMIx. The name of the
// job's namespace says how it behaves; see tests/agent/pmix_link_test.cc.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "tests/wire/frame_bytes.h"

namespace {

constexpr int kLink = 3;

void say(dtl::Message message) {
  static std::uint32_t sequence = 0;
  dtl::write_all(kLink, dtl::frame_bytes(std::move(message), sequence++));
}

void get_ready(const dtl::ServePmix& job) {
  for (std::uint32_t rank = 0; rank < job.places.size(); ++rank) {
    if (job.places[rank].node != job.node) continue;
    dtl::PmixReady ready;
    ready.rank = rank;
    ready.variables.push_back("PMIX_NAMESPACE=" + job.space);
    ready.variables.push_back("PMIX_RANK=" + std::to_string(rank));
    ready.variables.push_back("PMIX_MCA_gds=hash");
    say(ready);
  }
}

[[noreturn]] void fail() {
  std::fputs("first line\ndtpmix: cannot go on: no reason\n", stderr);
  std::_Exit(3);
}

void act_on(const dtl::Message& message) {
  static dtl::ServePmix job;
  if (const auto* serve = std::get_if<dtl::ServePmix>(&message)) {
    job = *serve;
    if (job.space == "dies") fail();
    if (job.space != "late") get_ready(job);
  } else if (const auto* wanted = std::get_if<dtl::PmixWanted>(&message)) {
    if (job.space == "late") get_ready(job);
    if (job.space == "dies later") fail();
    if (job.space == "talks") say(dtl::Trouble{"too much to do"});
    dtl::PmixGiven given;
    given.node = wanted->node;
    given.number = wanted->number;
    given.data = "data of " + std::to_string(wanted->rank);
    say(given);
  } else if (const auto* fenced = std::get_if<dtl::PmixFenced>(&message)) {
    say(dtl::PmixFence{fenced->ranks, fenced->data, fenced->more});
  } else if (const auto* exited = std::get_if<dtl::Exited>(&message)) {
    say(dtl::MpiNews{exited->rank, dtl::MpiEvent::kLeft, exited->code, "left"});
  }
}

}  // namespace

int main(int, char** arguments) {
  std::fclose(std::fopen((std::string(arguments[2]) + "/file").c_str(), "w"));
  dtl::FrameReader reader;
  bool stubborn = false;
  for (;;) {
    char buffer[4096];
    const ssize_t n = ::recv(kLink, buffer, sizeof buffer, 0);
    if (n <= 0 && !stubborn) return 0;
    if (n <= 0) ::pause();
    reader.feed(std::string(buffer, static_cast<std::size_t>(n)));
    while (const auto message = reader.next()) {
      const auto* serve = std::get_if<dtl::ServePmix>(&*message);
      stubborn |= serve != nullptr && serve->space == "stubborn";
      act_on(*message);
    }
  }
}
