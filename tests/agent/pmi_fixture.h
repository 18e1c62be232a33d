#pragma once
// Pmi: shared by the tests of the PMI-1 server. Its effects are compared as texts.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/pmi/pmi_server.h"

namespace dtl::pmi_server_test {

inline const std::string kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";
inline const std::string kInitAnswer =
    "0: cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";

inline std::string as_text(const pmi::Effect& effect) {
  if (const auto* reply = std::get_if<pmi::Reply>(&effect)) {
    return fmt::format("{}: {}", reply->rank, reply->text);
  }
  if (const auto* say = std::get_if<pmi::Say>(&effect)) {
    return fmt::format("say {}: {}", say->rank, say->text);
  }
  if (const auto* told = std::get_if<pmi::News>(&effect)) {
    const MpiNews& news = told->news;
    const char* event = news.event == MpiEvent::kAborted ? "aborted"
                        : news.event == MpiEvent::kLeft  ? "left"
                                                         : "broken";
    return fmt::format("{} {}: {} \"{}\"", event, news.rank, static_cast<std::int32_t>(news.code),
                       news.text);
  }
  std::string text = "fence";
  for (const PmiFence& part : std::get<pmi::Fence>(effect).parts) {
    for (const PmiEntry& entry : part.entries)
      text += fmt::format(" {}={}", entry.key, entry.value);
    if (part.more) text += " +";
  }
  return text;
}

inline std::vector<std::string> as_texts(const std::vector<pmi::Effect>& effects) {
  std::vector<std::string> texts;
  for (const pmi::Effect& effect : effects) texts.push_back(as_text(effect));
  return texts;
}

class Pmi : public ::testing::Test {
 protected:
  // Processes below 1000 have ended.
  static PmiServer make(std::uint32_t nodes, std::vector<PmiRank> ranks) {
    return PmiServer({4, nodes, "0123abcd.0", "(vector,(0,2,2))", std::move(ranks)},
                     [](pid_t process) { return process >= 1000; });
  }
  // What comes of these bytes of a rank, whose process is 1000 and its number.
  static std::vector<std::string> send(PmiServer& server, std::uint32_t rank,
                                       std::string_view bytes) {
    return as_texts(server.received(rank, static_cast<pid_t>(1000 + rank), bytes));
  }
  std::vector<std::string> send(std::uint32_t rank, std::string_view bytes) {
    return send(server_, rank, bytes);
  }
  void start_all() {
    send(0, kInit);
    send(1, kInit);
  }

  PmiServer server_ = make(1, {{0, 0}, {1, 3}});
};

}  // namespace dtl::pmi_server_test
