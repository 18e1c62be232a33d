#include "examples.h"

#include "wire/frame.h"

namespace dtl {
namespace {

Hello example_hello() {
  NodeFacts facts;
  facts.hostname = "n1";
  facts.machine_id = "0123";
  facts.boot_id = "4567";
  facts.agent_version = "0.1.0";
  facts.topology.cores = {Core{0, 0, {0, 2}}, Core{1, 1, {1, 3}}};
  facts.topology.allowed = CpuSet({0, 1, 2});
  facts.topology.quota_cpus = 1.5;
  facts.topology.memory_bytes = 1 << 30;
  facts.topology.cores[1].cache1 = facts.topology.cores[1].cache2 = 1;
  facts.topology.cores[1].kind = 1;
  facts.topology.numa_nodes = {{0, 1 << 29}, {2, 1 << 29}};
  facts.reached_at = "10.0.0.1";
  facts.descriptors = 1 << 16;
  Nic nic;
  nic.name = "eth0";
  nic.up = true;
  nic.speed_mbps = 10000;
  nic.mtu = 1500;
  nic.addresses = {"10.0.0.1", "fd00::1"};
  nic.prefix_bits = {24, 64};
  nic.numa = 1;
  facts.nics = {nic};
  facts.accelerators = {"/dev/nvidia0", "/dev/nvidia1"};
  facts.claims = {{"00112233aabbccdd", 1000, "alice", 3600, CpuSet({1, 3}), true}};
  return {facts};
}

Start example_start() {
  RankSpec rank;
  rank.rank = 3;
  rank.local_rank = 1;
  rank.arguments = {"echo", "hi"};
  rank.environment = {1, {{2, "RANK=3"}}};
  rank.working_directory = "/tmp";
  rank.umask = 077;
  rank.cpus = {1, 3};
  rank.wants_stdin = true;
  rank.memory_policy = MemoryPolicy::kBind;
  rank.memory_nodes = {2};
  return {std::string(32, 's'), {rank}};
}

RankStates example_states() {
  CommState comm;
  comm.id = 0x1122334455667788;
  comm.rank = 1;
  comm.world = 4;
  comm.begun = 12;
  comm.opcode = 1;
  comm.completed = 11;
  comm.bytes = 1 << 20;
  comm.looks = 50;
  comm.waits = 48;
  TrainingProgress progress;
  progress.step = 7;
  progress.total_steps = 100;
  progress.tokens = 5000;
  progress.loss = 0.5;
  const RankUsage usage{1500, 4096, 3};
  return {{RankReport{
      3, 4711, Activity::kStopped, {comm}, {{"10.0.0.2", 1 << 20, 90000}}, usage, progress}}};
}

std::vector<Message> pmix_messages() {
  return {
      ServePmix{"0123abcd.0", 1, {"node1", "node2"}, {{0, 0}, {1, 1}}},
      PmixReady{1, {"PMIX_RANK=1", "PMIX_NAMESPACE=0123abcd.0"}},
      PmixFence{{0, 1}, std::string("\0\xff", 2), true},
      PmixFenced{{}, "data", false},
      PmixWanted{1, 0, 5},
      PmixGiven{0, 5, 46, "", false},
  };
}

std::vector<Message> claim_messages() {
  return {
      ClaimCores{CpuSet({0, 2}), false, {"00112233aabbccdd"}, 600},
      CoresClaimed{true, {{"00112233aabbccdd", 1000, "alice", 3600, CpuSet({2}), false}}, "no"},
      TakeTicket{1700000000000, 2, CpuSet({0, 2}), 600, {"00112233aabbccdd"}},
      CoresSeen{1700000000000,
                {{"00112233aabbccdd", 1000, "alice", 3600, CpuSet({2}), false, true, 60}},
                "no"},
  };
}

std::vector<Message> more_messages() {
  return {
      JoinTree{5,
               std::string(32, 'b'),
               std::string(32, 'r'),
               7000,
               7009,
               {{1, {"10.0.0.2", "fd00::2"}, 7001, std::string(32, 'e')}}},
      TreeJoined{7001, "no"},
      Relayed{"parcels"},
      SharedFrame{{std::string(32, 'd'), std::string(32, 'e')}},
      PieceWanted{std::string(32, 'd')},
      PieceGiven{"piece"},
      Leaving{"aws: terminate", 118000},
  };
}

}  // namespace

std::vector<std::pair<std::string, Message>> example_messages() {
  const Reach reach = {{{"10.0.0.1", 4000, 2}, {"fd00::1", 4000, 2}}, 300, 65536};
  Reached reached;
  reached.attempts = {Attempt{{"10.0.0.1", 4000, 2}, true, "10.0.0.2", "eth0", ""}};
  Examine examine;
  examine.parameters = {{"what", "clock"}};
  Examined examined;
  examined.facts = {{"clock.realtime_us", "1700000000000000"}};
  std::vector<Message> messages = {
      Welcome{"0.1.0", "00112233aabbccdd", "node01", "login"},
      example_hello(),
      Listen{2, 20000, 20099},
      Listening{4000, 29500, {"10.0.0.1"}},
      reach,
      reached,
      StopListening{},
      example_start(),
      Started{3, 4711},
      SpawnFailed{3, "format", 8, "it is a gzip file"},
      Stdin{0, "abc", true},
      Output{3, Stream::kStderr, "oh\n"},
      Exited{3, 0, 11, 123456, 2},
      Stop{15, 5000, 500},
      Kill{},
      Finish{},
      Finished{2, 1},
      Trouble{"guard lost"},
      Heartbeat{86400000},
      StdinTaken{0, 3},
      StdinClosed{0, 3},
      PmiFence{{{"P1-bc", "tcp#10.0.0.2"}}, true},
      MpiNews{3, MpiEvent::kAborted, 7, "out of memory"},
      examine,
      examined,
      OutputRules{65536, 1000, "/logs"},
      Credit{3, 4096},
      Skipped{3, Stream::kStderr, 12345678, "/logs/rank.3.err"},
      Signal{10},
      Notice{"rank 3 is stopped"},
      Evidence{3, 1, 1 << 30, "{}"},
      Environment{1, {{0, "A=1"}, {2, "B=2"}}},
      Stack{3, StackAnswer::kTold, "at train.py\n"},
      WatchRanks{5000, 8000},
      example_states(),
      NativeStack{3, true, "#0 poll\n"},
      Reconnect{"00112233aabbccdd", std::string(32, 't'), 60000},
      Resume{std::string(32, 't'), 2, 1234},
      Resumed{ResumeAnswer::kResumed, 2, 567},
      Received{1234},
      WatchNotices{Cloud::kAws},
      ServePmi{4, 2, "0123abcd.0", "(vector,(0,2,2))", {{2, 0}, {3, 1}}},
      PmiFenced{{{"P0-bc", "tcp#10.0.0.1"}, {"P1-bc", std::string("\0\xff", 2)}}, false},
  };
  for (Message& message : pmix_messages()) messages.push_back(std::move(message));
  for (Message& message : claim_messages()) messages.push_back(std::move(message));
  for (Message& message : more_messages()) messages.push_back(std::move(message));
  std::vector<std::pair<std::string, Message>> named;
  for (const Message& message : messages) named.emplace_back(message_name(message), message);
  return named;
}

}  // namespace dtl
