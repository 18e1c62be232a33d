// The page of --show-scheduler. It shows everything that was read and concluded, so users can
// report a wrong conclusion with it.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/name_list.h"
#include "plan/schedulers/evidence.h"

namespace dtl {
namespace {

constexpr std::size_t kPageColumns = 80;
constexpr std::size_t kPageIndent = 12;  // of the texts beside the words on the left

// One row: `label` on the left, the text beside it, wrapped between words. Values of variables may
// contain anything, so the text is made printable.
void add_row(std::string& page, std::string_view label, const std::string& text) {
  std::string line = fmt::format("{:<{}}", label, kPageIndent);
  bool is_empty = true;
  const auto end_line = [&] {
    page += line + "\n";
    line = std::string(kPageIndent, ' ');
    is_empty = true;
  };
  for (const std::string& word : split(printable(text), ' ')) {
    if (!is_empty && line.size() + 1 + word.size() > kPageColumns) end_line();
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  end_line();
}

std::string_view role_text(SchedulerRole role) {
  switch (role) {
    case SchedulerRole::kLauncher:
      return "launcher: starts agents on the hosts";
    case SchedulerRole::kNode:
      return "node: one of several, each with a dtlaunch of its own";
    case SchedulerRole::kRank:
      return "rank: the scheduler has started every one, each with a dtlaunch";
  }
  return "";
}

std::string starter_text(const SchedulerEvidence& evidence) {
  if (evidence.starter == nullptr) return "ssh";
  const auto& programs = evidence.starter->programs;
  // Before the search, any of them is possible.
  const std::string program =
      evidence.starter_path.empty()
          ? join(std::vector<std::string>(programs.begin(), programs.end()), " or ")
          : evidence.starter_path;
  return fmt::format(fmt::runtime(evidence.starter->summary), program);
}

std::string host_text(const Host& host) {
  std::string text = host.name;
  if (host.slots) text += fmt::format(":{}", *host.slots);
  if (!host.slots && host.max_slots) {
    text += fmt::format(" ({})", plural(*host.max_slots, "CPU"));
  }
  return text;
}

std::string hosts_text(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host_text(host));
  return fmt::format("{}: {}", hosts.size(), first_names(names));
}

std::string node_text(const SchedulerEvidence& evidence) {
  const std::string of =
      evidence.elastic ? fmt::format("{} to {}", evidence.elastic->least, evidence.elastic->most)
      : evidence.node_count ? std::to_string(*evidence.node_count)
                            : "?";
  if (evidence.node_rank) return fmt::format("number {} of {}", *evidence.node_rank, of);
  if (evidence.node_hint) {
    return fmt::format("one of {}; number {} if it is free", of, *evidence.node_hint);
  }
  return "one of " + of;
}

std::string coordinator_text(const SchedulerEvidence& evidence) {
  std::string text = evidence.coordinator;
  if (evidence.coordinator_port > 0) text += fmt::format(", port {}", evidence.coordinator_port);
  if (evidence.is_coordinator) text += ": this one";
  return text;
}

// NAME=value in one row: a list of hosts may have thousands of bytes.
std::string variable_text(const std::string& name, const std::string& value) {
  std::string text = printable(fmt::format("{}={}", name, value));
  const std::size_t room = kPageColumns - kPageIndent;
  if (text.size() <= room) return text;
  std::size_t end = room - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // of UTF-8
  return text.substr(0, end) + "...";
}

}  // namespace

std::string evidence_text(const SchedulerEvidence& evidence) {
  std::string page;
  std::string scheduler(scheduler_name(evidence.scheduler));
  if (!evidence.job_id.empty()) scheduler += ", job " + evidence.job_id;
  if (evidence.restart > 0) scheduler += ", started again " + plural(evidence.restart, "time");
  add_row(page, "scheduler", scheduler);
  if (evidence.scheduler != nullptr) add_row(page, "role", std::string(role_text(evidence.role)));
  if (!evidence.hosts.empty()) add_row(page, "hosts", hosts_text(evidence.hosts));
  if (evidence.scheduler != nullptr && evidence.role == SchedulerRole::kLauncher &&
      !evidence.refusal) {
    add_row(page, "starter", starter_text(evidence));
  }
  if (evidence.role == SchedulerRole::kNode && !evidence.refusal) {
    add_row(page, "node", node_text(evidence));
  }
  if (!evidence.coordinator.empty()) add_row(page, "meeting at", coordinator_text(evidence));
  if (evidence.ranks_per_node) {
    add_row(page, "ranks", fmt::format("{} on each node", *evidence.ranks_per_node));
  }
  // The label is only beside the first sentence.
  std::string_view label = "so";
  for (const std::string& sentence : evidence.follows) {
    add_row(page, std::exchange(label, ""), sentence);
  }
  if (evidence.refusal) {
    const SchedulerRefusal& refusal = *evidence.refusal;
    add_row(page, "refused", message_text(refusal.attempted, refusal.reason, refusal.hint));
  }
  for (const std::string& warning : evidence.warnings) add_row(page, "warning", warning);
  if (!evidence.crowded.empty()) add_row(page, "warning", evidence.crowded);
  label = "by";
  for (const auto& [name, value] : evidence.used) {
    add_row(page, std::exchange(label, ""), variable_text(name, value));
  }
  return page;
}

}  // namespace dtl
