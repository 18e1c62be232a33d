#include "agent/pmi/pmi_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxSpaceNameBytes = 256;  // as MPICH's server says
constexpr std::size_t kMaxQuote = 200;           // bytes of what a rank sent, in a message
constexpr std::size_t kMaxAbortText = 1000;
constexpr std::string_view kMappingKey = "PMI_process_mapping";

// What is not served. MPI programs get an error from the call, which most of them do not survive.
struct Refusal {
  std::string_view command, answer, say;
};
constexpr Refusal kRefusals[] = {
    {"spawn", "cmd=spawn_result rc=-1 msg=not_supported\n",
     "MPI_Comm_spawn fails: dtlaunch starts no further ranks while a job runs"},
    {"publish_name", "cmd=publish_result rc=-1 msg=not_supported\n",
     "MPI_Publish_name fails: dtlaunch has no name service"},
    {"unpublish_name", "cmd=unpublish_result rc=-1 msg=not_supported\n", {}},
    {"lookup_name", "cmd=lookup_result rc=-1 msg=not_supported\n",
     "MPI_Lookup_name fails: dtlaunch has no name service"},
    // Of PMI-1 before 1.1, which had several key spaces. MPIs do not need them.
    {"getbyidx", "cmd=getbyidx_results rc=-1 reason=not_supported\n", {}},
    {"create_kvs", "cmd=newkvs rc=-1 msg=not_supported\n", {}},
    {"destroy_kvs", "cmd=kvs_destroyed rc=-1 msg=not_supported\n", {}},
    {"get_ranks2hosts", "cmd=put_ranks2hosts rc=-1 msg=not_supported\n", {}},
};

// The start of what a rank sent, safe for a message.
std::string quote(std::string_view sent, std::size_t most = kMaxQuote) {
  std::size_t taken = std::min(sent.size(), most);
  std::string text = printable(sent.substr(0, taken));
  while (text.size() > most) text = printable(sent.substr(0, --taken));
  return text;
}

// The 32 bits of an int: MPICH aborts with -1 when it cannot start.
std::uint32_t read_exit_code(const std::string* text) {
  if (text == nullptr) return 1;
  const bool negative = text->starts_with('-');
  const auto value = parse_integer(std::string_view(*text).substr(negative ? 1 : 0), 0, UINT32_MAX);
  if (!value) return 1;
  return static_cast<std::uint32_t>(negative ? -*value : *value);
}

std::size_t encoded_bytes(const std::string& key, const std::string& value) {
  return key.size() + value.size() + kLeastPmiEntry;
}

}  // namespace

// These need init. The others: init, abort and kRefusals.
const std::pair<std::string_view, PmiServer::Handler> PmiServer::kHandlers[] = {
    {"get_maxes", &PmiServer::maxes},
    {"get_universe_size", &PmiServer::universe_size},
    {"get_appnum", &PmiServer::appnum},
    {"get_my_kvsname", &PmiServer::my_space_name},
    {"put", &PmiServer::put},
    {"get", &PmiServer::get},
    {"barrier_in", &PmiServer::enter_barrier},
    {"finalize", &PmiServer::finalize},
};

PmiServer::PmiServer(ServePmi job, Runs runs) : job_(std::move(job)), runs_(std::move(runs)) {
  for (const PmiRank& rank : job_.ranks) ranks_[rank.rank].is = rank;
}

std::vector<pmi::Effect> PmiServer::received(std::uint32_t rank, pid_t process,
                                             std::string_view bytes) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || !found->second.heard) return {};
  Rank& from = found->second;
  from.reader.feed(bytes);
  while (from.heard) {
    const auto command = from.reader.next();
    if (!command) break;
    handle(from, process, *command);
  }
  return take_effects();
}

std::vector<pmi::Effect> PmiServer::fenced(PmiFenced part) {
  for (PmiEntry& entry : part.entries) {
    Value& value = space_[std::move(entry.key)];
    if (value.own) own_bytes_ += entry.value.size() - value.text.size();
    value.text = std::move(entry.value);
  }
  if (!part.more) end_barrier();
  return take_effects();
}

PmiPhase PmiServer::phase(std::uint32_t rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? PmiPhase::kUnused : found->second.phase;
}

bool PmiServer::has_ended(std::uint32_t rank) const {
  const auto found = ranks_.find(rank);
  return found != ranks_.end() && found->second.ended;
}

std::vector<pmi::Effect> PmiServer::ended(std::uint32_t rank, bool orderly) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return {};
  found->second.heard = false;
  found->second.ended = true;
  found->second.reader = {};
  if (!orderly) return {};  // its failure says more
  if (found->second.phase == PmiPhase::kInitialised) {
    effects_.push_back(pmi::News{{rank, MpiEvent::kLeft, 0, {}}});
  } else if (!gone_) {
    gone_ = rank;
  }
  tell_who_left();
  return take_effects();
}

void PmiServer::tell_who_left() {
  if (inside_ == 0 || !gone_) return;
  effects_.push_back(pmi::News{{*gone_, MpiEvent::kLeft, 1, {}}});
  gone_.reset();
}

PmiServer::Handler PmiServer::handler1(std::string_view name) {
  const auto found = std::find_if(std::begin(kHandlers), std::end(kHandlers),
                                  [&](const auto& each) { return each.first == name; });
  return found == std::end(kHandlers) ? nullptr : found->second;
}

void PmiServer::handle(Rank& rank, pid_t process, const PmiCommand& command) {
  const bool is_pmi2 = rank.reader.expected() == PmiVersion::k2;
  if (command.name.empty()) {
    return break_off(
        rank, fmt::format("sent what is not PMI-{}: \"{}\"", is_pmi2 ? 2 : 1, quote(command.line)));
  }
  if (command.name == "init") return init(rank, process, command);
  if (command.name == "abort") return abort(rank, command);  // MPICH does if init fails, too
  if (is_pmi2 && command.name == "fullinit") return fullinit(rank, command);
  const Handler handler = is_pmi2 ? handler2(command.name) : handler1(command.name);
  if (rank.phase != PmiPhase::kInitialised) {
    const char* when = rank.phase == PmiPhase::kUnused ? "before init" : "after finalize";
    return break_off(rank, fmt::format("sent a PMI command {}: \"{}\"", when, quote(command.line)));
  }
  if (handler != nullptr) return (this->*handler)(rank, command);
  if (is_pmi2 ? refuse2(rank, command) : refuse(rank, command)) return;
  break_off(rank, fmt::format("sent an unknown PMI command: \"{}\"", quote(command.line)));
}

// The connection outlives an MPI program: a script may run several, one after the other.
void PmiServer::init(Rank& rank, pid_t process, const PmiCommand& command) {
  const bool other = process != 0 && rank.process != 0 && process != rank.process;
  if (rank.phase == PmiPhase::kInitialised && other && runs_(rank.process)) {
    return break_off(rank,
                     fmt::format("process {} started MPI, too, and process {} already uses this "
                                 "rank's connection",
                                 process, rank.process));
  }
  const std::string* version = command.find("pmi_version");
  rank.reader.expect(PmiVersion::k1);
  if (version != nullptr && *version == "2") {  // fullinit follows
    rank.reader.expect(PmiVersion::k2);
    rank.process = process;
    return reply(rank, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  }
  const bool known = version != nullptr && *version == "1";
  reply(rank,
        fmt::format("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={}\n", known ? 0 : -1));
  if (!known) return;
  rank.process = process;
  start_program(rank);
}

void PmiServer::start_program(Rank& rank) {
  if (rank.barrier == Barrier::kInside) --inside_;  // the one before died there
  rank.barrier = Barrier::kOutside;
  rank.phase = PmiPhase::kInitialised;
  std::erase_if(waits_, [&](const Wait& each) { return each.rank == rank.is.rank; });
  ++rank.starts;
}

void PmiServer::abort(Rank& rank, const PmiCommand& command) {
  const std::string* message = command.find("message");
  if (message == nullptr) message = command.find("msg");  // Slurm's library of PMI-2
  effects_.push_back(
      pmi::News{{rank.is.rank, MpiEvent::kAborted, read_exit_code(command.find("exitcode")),
                 message == nullptr ? "" : quote(*message, kMaxAbortText)}});
  rank.heard = false;  // a message of several lines goes on
}

bool PmiServer::refuse(Rank& rank, const PmiCommand& command) {
  const auto refusal =
      std::find_if(std::begin(kRefusals), std::end(kRefusals),
                   [&](const Refusal& each) { return each.command == command.name; });
  if (refusal == std::end(kRefusals)) return false;
  say_once(rank, command.name, refusal->say);
  reply(rank, std::string(refusal->answer));
  return true;
}

void PmiServer::say_once(Rank& rank, const std::string& command, std::string_view text) {
  const bool is_new = std::find(rank.said.begin(), rank.said.end(), command) == rank.said.end();
  if (text.empty() || !is_new) return;
  rank.said.push_back(command);
  effects_.push_back(pmi::Say{rank.is.rank, std::string(text)});
}

void PmiServer::maxes(Rank& rank, const PmiCommand&) {
  reply(rank, fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={} rc=0\n",
                          kMaxSpaceNameBytes, kMaxPmiKeyBytes, kMaxPmiValueBytes));
}

void PmiServer::universe_size(Rank& rank, const PmiCommand&) {
  reply(rank, fmt::format("cmd=universe_size size={} rc=0\n", job_.world));
}

void PmiServer::appnum(Rank& rank, const PmiCommand&) {
  reply(rank, fmt::format("cmd=appnum appnum={} rc=0\n", rank.is.program));
}

// MPICH 5 names a shared memory segment after this, and one that a program has left behind breaks
// the next one. So the second program of a rank gets another name.
std::string PmiServer::space_name(const Rank& rank) const {
  return job_.space + (rank.starts > 1 ? fmt::format(".{}", rank.starts) : "");
}

void PmiServer::my_space_name(Rank& rank, const PmiCommand&) {
  reply(rank, fmt::format("cmd=my_kvsname kvsname={} rc=0\n", space_name(rank)));
}

// Of this program or an earlier one: all have the same keys.
bool PmiServer::names_space(const PmiCommand& command) const {
  const std::string* name = command.find("kvsname");
  return name == nullptr || name->starts_with(job_.space);
}

void PmiServer::put(Rank& rank, const PmiCommand& command) {
  const std::string* key = command.find("key");
  const std::string* value = command.find("value");
  const char* fault = nullptr;
  if (!names_space(command)) fault = "unknown_kvsname";
  if (key == nullptr || key->empty() || value == nullptr) fault = "no_key_or_value";
  if (fault == nullptr && key->size() > kMaxPmiKeyBytes) fault = "key_too_long";
  if (fault == nullptr && value->size() > kMaxPmiValueBytes) fault = "value_too_long";
  if (fault != nullptr) return reply(rank, fmt::format("cmd=put_result rc=-1 msg={}\n", fault));
  if (store(*key, *value)) return reply(rank, "cmd=put_result rc=0\n");
  break_off_full(rank, *key);
}

// False: this node has no space left.
bool PmiServer::store(const std::string& key, const std::string& value) {
  const auto found = space_.find(key);
  const bool own = found != space_.end() && found->second.own;
  const std::size_t keys = own_keys_ + (own ? 0 : 1);
  const std::size_t bytes =
      own_bytes_ + value.size() - (own ? found->second.text.size() : 0) + (own ? 0 : key.size());
  if (keys > kMaxPmiKeys || bytes > kMaxPmiSpace) return false;
  own_keys_ = keys;
  own_bytes_ = bytes;
  Space::value_type& entry = found == space_.end() ? *space_.try_emplace(key).first : *found;
  entry.second.text = value;
  entry.second.own = true;
  if (job_.nodes > 1 && !entry.second.waiting) {
    entry.second.waiting = true;
    waiting_.push_back(&entry);
  }
  return true;
}

const std::string* PmiServer::look_up(const std::string& key) const {
  if (key == kMappingKey) return job_.mapping.empty() ? nullptr : &job_.mapping;
  const auto found = space_.find(key);
  return found == space_.end() ? nullptr : &found->second.text;
}

void PmiServer::get(Rank& rank, const PmiCommand& command) {
  const std::string* key = command.find("key");
  const std::string* value = nullptr;
  if (key != nullptr && names_space(command)) value = look_up(*key);
  // Old clients take no spaces in `msg`.
  reply(rank, value == nullptr ? "cmd=get_result rc=-1 msg=key_not_found\n"
                               : fmt::format("cmd=get_result rc=0 value={}\n", *value));
}

void PmiServer::enter_barrier(Rank& rank, const PmiCommand& command) {
  if (command.find("group") != nullptr) {  // PMI 1.2, which init does not offer
    return reply(rank, "cmd=barrier_out rc=-1 msg=not_supported\n");
  }
  if (rank.barrier != Barrier::kOutside) {
    return break_off(rank, "entered PMI's barrier twice: \"cmd=barrier_in\"");
  }
  enter(rank);
}

void PmiServer::enter(Rank& rank) {
  rank.barrier = Barrier::kInside;
  ++inside_;
  tell_who_left();
  fence_if_complete();
}

// All ranks of the node take part, finalised ones too: their next MPI program enters it.
void PmiServer::fence_if_complete() {
  if (fencing_ || inside_ == 0 || inside_ != ranks_.size()) return;
  for (auto& [number, rank] : ranks_) rank.barrier = Barrier::kFenced;
  inside_ = 0;
  fencing_ = true;
  if (job_.nodes > 1) {
    effects_.push_back(pmi::Fence{take_waiting()});
  } else {
    end_barrier();
  }
}

void PmiServer::end_barrier() {
  if (!fencing_) return;
  fencing_ = false;
  for (const PmiRank& each : job_.ranks) {
    Rank& rank = ranks_.at(each.rank);
    if (rank.barrier != Barrier::kFenced) continue;
    rank.barrier = Barrier::kOutside;
    if (!rank.heard) continue;
    if (rank.reader.expected() == PmiVersion::k2) {
      answer2(rank, rank.fence_thread, "kvs-fence", {{"rc", "0"}});
    } else {
      reply(rank, "cmd=barrier_out rc=0\n");
    }
  }
  fence_if_complete();
}

std::vector<PmiFence> PmiServer::take_waiting() {
  constexpr std::size_t kEmpty = 64;  // a frame's header, the count and `more`
  std::vector<PmiFence> parts(1);
  std::size_t bytes = kEmpty;
  for (Space::value_type* entry : std::exchange(waiting_, {})) {
    entry->second.waiting = false;
    const std::size_t more = encoded_bytes(entry->first, entry->second.text);
    if (bytes + more > kMaxFenceBytes) {
      parts.back().more = true;
      parts.emplace_back();
      bytes = kEmpty;
    }
    bytes += more;
    parts.back().entries.push_back({entry->first, entry->second.text});
  }
  return parts;
}

void PmiServer::finalize(Rank& rank, const PmiCommand&) {
  if (rank.barrier != Barrier::kOutside) {
    return break_off(rank, "left PMI's barrier before its end: \"cmd=finalize\"");
  }
  rank.phase = PmiPhase::kFinalised;
  reply(rank, "cmd=finalize_ack rc=0\n");
}

void PmiServer::reply(const Rank& rank, std::string text) {
  effects_.push_back(pmi::Reply{rank.is.rank, std::move(text)});
}

void PmiServer::break_off_full(Rank& rank, const std::string& key) {
  break_off(rank, fmt::format("put more into PMI's key space than a node may ({} keys, {} MiB): "
                              "\"{}\"",
                              kMaxPmiKeys, kMaxPmiSpace >> 20, quote(key)));
}

void PmiServer::break_off(Rank& rank, std::string text) {
  effects_.push_back(pmi::News{{rank.is.rank, MpiEvent::kBroken, 0, std::move(text)}});
  rank.heard = false;
}

}  // namespace dtl
