// PmiServer's part that speaks PMI-2. Its key space and its fence are those of PMI-1; beside them a
// node has attributes, which stay there, and for which a rank may wait. Names and values are those
// of MPICH's description of the protocol (src/pmi/maint/pmi-2.0.txt).
#include <fmt/format.h>

#include <algorithm>

#include "agent/pmi/pmi2_message.h"
#include "agent/pmi/pmi_server.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

constexpr std::string_view kThread = "thrid";  // the thread that waits for the answer
constexpr std::size_t kMaxThreadName = 64;

// What is not served, with what the user is told.
struct Refused {
  std::string_view command, say;
};
constexpr Refused kRefused[] = {
    {"spawn", "MPI_Comm_spawn fails: dtlaunch starts no further ranks while a job runs"},
    {"name-publish", "MPI_Publish_name fails: dtlaunch has no name service"},
    {"name-lookup", "MPI_Lookup_name fails: dtlaunch has no name service"},
    {"name-unpublish", {}},
    {"job-connect", {}},
    {"job-disconnect", {}},
    {"ring", {}},
};

const std::string* key_of(const PmiCommand& command) {
  const std::string* key = command.find("key");
  return key == nullptr || key->empty() || key->size() > kMaxPmiKeyBytes ? nullptr : key;
}

PmiAttributes found(const std::string* value) {
  if (value == nullptr) return {{"found", "FALSE"}, {"rc", "0"}};
  return {{"found", "TRUE"}, {"value", *value}, {"rc", "0"}};
}

const PmiAttributes kDone = {{"rc", "0"}};

PmiAttributes failed(const char* why) {
  return {{"rc", "1"}, {"errmsg", why}};
}

}  // namespace

// These need fullinit. The others: fullinit, abort and kRefused.
const std::pair<std::string_view, PmiServer::Handler> PmiServer::kHandlers2[] = {
    {"job-getid", &PmiServer::job_id},
    {"info-getjobattr", &PmiServer::get_job_attribute},
    {"info-putnodeattr", &PmiServer::put_node_attribute},
    {"info-getnodeattr", &PmiServer::get_node_attribute},
    {"kvs-put", &PmiServer::put2},
    {"kvs-get", &PmiServer::get2},
    {"kvs-fence", &PmiServer::enter_fence},
    {"finalize", &PmiServer::finalize2},
};

PmiServer::Handler PmiServer::handler2(std::string_view name) {
  const auto found = std::find_if(std::begin(kHandlers2), std::end(kHandlers2),
                                  [&](const auto& each) { return each.first == name; });
  return found == std::end(kHandlers2) ? nullptr : found->second;
}

void PmiServer::answer2(const Rank& rank, const std::string& thread, std::string_view name,
                        PmiAttributes attributes) {
  if (!thread.empty()) attributes.insert(attributes.begin(), {std::string(kThread), thread});
  reply(rank, pmi2_message(fmt::format("{}-response", name), attributes));
}

void PmiServer::answer2(const Rank& rank, const PmiCommand& command, PmiAttributes attributes) {
  const std::string* thread = command.find(kThread);
  answer2(rank, thread == nullptr ? "" : thread->substr(0, kMaxThreadName), command.name,
          std::move(attributes));
}

void PmiServer::fullinit(Rank& rank, const PmiCommand& command) {
  start_program(rank);
  answer2(rank, command,
          {{"pmi-version", "2"},
           {"pmi-subversion", "0"},
           {"rank", fmt::format("{}", rank.is.rank)},
           {"size", fmt::format("{}", job_.world)},
           {"appnum", fmt::format("{}", rank.is.program)},
           {"debugged", "FALSE"},
           {"pmiverbose", "FALSE"},
           {"rc", "0"}});
}

void PmiServer::job_id(Rank& rank, const PmiCommand& command) {
  answer2(rank, command, {{"jobid", space_name(rank)}, {"rc", "0"}});
}

void PmiServer::get_job_attribute(Rank& rank, const PmiCommand& command) {
  const std::string* key = key_of(command);
  const std::string world = fmt::format("{}", job_.world);
  const std::string* value = nullptr;
  if (key != nullptr && *key == "universeSize") value = &world;
  if (key != nullptr && *key == "PMI_process_mapping" && !job_.mapping.empty()) {
    value = &job_.mapping;
  }
  answer2(rank, command, found(value));
}

void PmiServer::put_node_attribute(Rank& rank, const PmiCommand& command) {
  const std::string* key = key_of(command);
  const std::string* value = command.find("value");
  if (key == nullptr || value == nullptr || value->size() > kMaxPmiValueBytes) {
    return answer2(rank, command, failed("no such key or value can be put"));
  }
  if (node_attributes_.size() == kMaxPmiNodeAttributes && !node_attributes_.contains(*key)) {
    return break_off(
        rank, fmt::format("put more than {} attributes of a node into PMI", kMaxPmiNodeAttributes));
  }
  node_attributes_[*key] = *value;
  answer2(rank, command, kDone);
  for (Wait& wait : std::exchange(waits_, {})) {
    const auto at = ranks_.find(wait.rank);
    if (wait.key != *key) {
      waits_.push_back(std::move(wait));
    } else if (at->second.heard) {
      answer2(at->second, wait.thread, "info-getnodeattr", found(value));
    }
  }
}

void PmiServer::get_node_attribute(Rank& rank, const PmiCommand& command) {
  const std::string* key = key_of(command);
  const auto at = key == nullptr ? node_attributes_.end() : node_attributes_.find(*key);
  const std::string* wait = command.find("wait");
  const std::string* thread = command.find(kThread);
  const bool waits = key != nullptr && at == node_attributes_.end() && wait != nullptr &&
                     (*wait == "TRUE" || *wait == "true");
  if (!waits)
    return answer2(rank, command, found(at == node_attributes_.end() ? nullptr : &at->second));
  if (waits_.size() == kMaxPmiNodeAttributes) {
    return break_off(rank, "waits for too many attributes of a node in PMI");
  }
  waits_.push_back(
      {rank.is.rank, *key, thread == nullptr ? "" : thread->substr(0, kMaxThreadName)});
}

void PmiServer::put2(Rank& rank, const PmiCommand& command) {
  const std::string* key = key_of(command);
  const std::string* value = command.find("value");
  if (key == nullptr || value == nullptr || value->size() > kMaxPmiValueBytes) {
    return answer2(rank, command, failed("no such key or value can be put"));
  }
  if (!store(*key, *value)) return break_off_full(rank, *key);
  answer2(rank, command, kDone);
}

void PmiServer::get2(Rank& rank, const PmiCommand& command) {
  const std::string* key = key_of(command);
  answer2(rank, command, found(key == nullptr ? nullptr : look_up(*key)));
}

void PmiServer::enter_fence(Rank& rank, const PmiCommand& command) {
  if (rank.barrier != Barrier::kOutside) {
    return break_off(rank, "entered PMI's fence twice: \"cmd=kvs-fence\"");
  }
  const std::string* thread = command.find(kThread);
  rank.fence_thread = thread == nullptr ? "" : thread->substr(0, kMaxThreadName);
  enter(rank);
}

void PmiServer::finalize2(Rank& rank, const PmiCommand& command) {
  if (rank.barrier != Barrier::kOutside) {
    return break_off(rank, "left PMI's fence before its end: \"cmd=finalize\"");
  }
  rank.phase = PmiPhase::kFinalised;
  answer2(rank, command, kDone);
  rank.reader.expect(PmiVersion::k1);  // of another program, which begins with a line
}

bool PmiServer::refuse2(Rank& rank, const PmiCommand& command) {
  const auto refusal =
      std::find_if(std::begin(kRefused), std::end(kRefused),
                   [&](const Refused& each) { return each.command == command.name; });
  if (refusal == std::end(kRefused)) return false;
  say_once(rank, command.name, refusal->say);
  answer2(rank, command, failed("not supported"));
  return true;
}

}  // namespace dtl
