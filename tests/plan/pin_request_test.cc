#include "plan/pinning/pin_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/pinning/pin_binding.h"
#include "plan/pinning/pin_domains.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::pin_request_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

PinRequest by_variable(const std::string& name, const std::string& value) {
  return parse_pin_request({}, {{name, value}});
}

PinRequest by_domain(const std::string& value) {
  return by_variable("I_MPI_PIN_DOMAIN", value);
}

PinRequest by_list(const std::string& value) {
  return by_variable("I_MPI_PIN_PROCESSOR_LIST", value);
}

PinRequest by_binding(const std::string& bind_to, const std::string& map_by = "") {
  PinOptions options;
  options.bind_to = bind_to;
  options.map_by = map_by;
  return parse_pin_request(options, {});
}

std::vector<std::string> texts(const std::vector<CpuSet>& sets) {
  std::vector<std::string> lists;
  for (const CpuSet& set : sets) lists.push_back(set.to_list());
  return lists;
}

// Pins for two sockets with four cores each, two threads per core, siblings 8 apart.
std::vector<std::string> pins(const PinRequest& request, int ranks, int threads = 0) {
  return texts(pin_domains(request, invented_topology(2, 4, 2), ranks, threads, "node1").of_rank);
}

std::string refusal(const PinOptions& options, const Variables& set = {}) {
  try {
    parse_pin_request(options, set);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "understood";
}

TEST(PinRequest, NobodyAsked) {
  EXPECT_EQ(parse_pin_request({}, {}).kind, PinKind::kDefault);
  EXPECT_EQ(parse_pin_request({}, {{"I_MPI_PIN_DOMAIN", " "}}).kind, PinKind::kDefault);
  EXPECT_EQ(by_variable("I_MPI_PIN", "on").kind, PinKind::kDefault);
}

TEST(PinRequest, MayBeTurnedOff) {
  for (const char* off : {"0", "off", "no", "disable", "OFF"}) {
    EXPECT_EQ(by_variable("I_MPI_PIN", off).kind, PinKind::kNone) << off;
  }
  EXPECT_EQ(by_binding("none").kind, PinKind::kNone);
}

TEST(PinRequest, ReadsMasksOfAnyWidthAndSpelling) {
  EXPECT_THAT(texts(by_domain("[0xfffffff0]").masks), ElementsAre("4-31"));
  EXPECT_THAT(texts(by_domain("[55,aa]").masks), ElementsAre("0,2,4,6", "1,3,5,7"));
  EXPECT_THAT(texts(by_domain("[0XF0, 0f ,]").masks), ElementsAre("4-7", "0-3"));
  EXPECT_THAT(texts(by_domain("\"[3fffffff]\"").masks), ElementsAre("0-29"));
  EXPECT_THAT(texts(by_domain("[0xffffff0,0xffffff00000000]").masks), ElementsAre("4-27", "32-55"));
  EXPECT_THAT(texts(by_domain("[" + std::string(1, '1') + std::string(64, '0') + "]").masks),
              ElementsAre("256"));
}

TEST(PinRequest, RefusesWhatItCannotRead) {
  const auto domain = [](const std::string& value) {
    return refusal({}, {{"I_MPI_PIN_DOMAIN", value}});
  };
  EXPECT_THAT(domain("[0xzz]"), HasSubstr("-genv I_MPI_PIN_DOMAIN=[0xzz]: '0xzz' is not a hex"));
  EXPECT_THAT(domain("[f0"), HasSubstr("has no ']'"));
  EXPECT_THAT(domain("[0]"), HasSubstr("is a mask without any CPU"));
  EXPECT_THAT(domain("[]"), HasSubstr("not a hexadecimal mask"));
  EXPECT_THAT(domain("sockets"), AllOf(HasSubstr("'sockets' is not understood (core, socket, numa"),
                                       EndsWith("Try: -genv I_MPI_PIN_DOMAIN=socket")));
  EXPECT_THAT(domain("0"), HasSubstr("too small (1 to"));
  EXPECT_THAT(domain("auto:wide"), HasSubstr("'wide' is not a layout ("));
  EXPECT_THAT(domain("auto:scater"), EndsWith("Try: -genv I_MPI_PIN_DOMAIN=auto:scatter"));
  EXPECT_THAT(refusal({}, {{"I_MPI_PIN_ORDER", "random"}}), HasSubstr("bunch, compact, scatter"));
  EXPECT_THAT(refusal({}, {{"I_MPI_PIN_CELL", "chip"}}), HasSubstr("unit or core"));
  EXPECT_THAT(refusal({}, {{"I_MPI_PIN", "maybe"}}), HasSubstr("on or off"));
  EXPECT_THAT(refusal({}, {{"I_MPI_PIN_RESPECT_CPUSET", "2"}}), HasSubstr("on or off"));
  const auto list = [](const std::string& value) {
    return refusal({}, {{"I_MPI_PIN_PROCESSOR_LIST", value}});
  };
  EXPECT_THAT(list("3-1"), HasSubstr("'3-1' is neither a CPU nor a range"));
  EXPECT_THAT(list("all:grain=many"), HasSubstr("'many'"));
  EXPECT_THAT(list("all:map=wide"), HasSubstr("'wide' is not a map"));
}

TEST(PinRequest, NamesTheEnvironmentAsTheOrigin) {
  PinOptions options;
  options.environment = {{"I_MPI_PIN_DOMAIN", "sockets"}};
  EXPECT_THAT(refusal(options), HasSubstr("I_MPI_PIN_DOMAIN=sockets: "));
}

TEST(PinRequest, OptionsWinOverGenvAndGenvOverTheEnvironment) {
  PinOptions options;
  options.environment = {{"I_MPI_PIN_DOMAIN", "core"}};
  EXPECT_EQ(parse_pin_request(options, {}).object, PinObject::kCore);
  EXPECT_EQ(parse_pin_request(options, {{"I_MPI_PIN_DOMAIN", "numa"}}).object, PinObject::kNuma);
  options.bind_to = "socket";
  const PinRequest request = parse_pin_request(options, {{"I_MPI_PIN_DOMAIN", "numa"}});
  EXPECT_EQ(request.object, PinObject::kPackage);
  EXPECT_THAT(request.notes, ElementsAre(HasSubstr("I_MPI_PIN_DOMAIN=numa: left out")));
}

TEST(PinRequest, TheDomainWinsOverTheList) {
  const PinRequest request =
      parse_pin_request({}, {{"I_MPI_PIN_DOMAIN", "core"}, {"I_MPI_PIN_PROCESSOR_LIST", "0-3"}});
  EXPECT_EQ(request.kind, PinKind::kShape);
  EXPECT_THAT(request.notes, ElementsAre(HasSubstr("I_MPI_PIN_PROCESSOR_LIST: left out")));
}

TEST(PinRequest, ReadsIntelsBindingOption) {
  PinOptions options;
  options.binding = "pin=yes;domain=socket;order=scatter";
  const PinRequest request = parse_pin_request(options, {});
  EXPECT_EQ(request.object, PinObject::kPackage);
  EXPECT_EQ(request.order, PinOrder::kScatter);
  options.binding = "\"pin=no\"";
  EXPECT_EQ(parse_pin_request(options, {}).kind, PinKind::kNone);
  options.binding = "pins=yes";
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("'pins=yes' is not understood (pin=yes|no"),
                                      EndsWith("Try: -binding domain=core")));
  options.binding = "order=random";
  EXPECT_THAT(refusal(options), EndsWith("Try: -binding order=scatter"));
}

TEST(PinRequest, AHostsOwnWordsWin) {
  Request request;
  request.environment.set = {{"I_MPI_PIN_DOMAIN", "core"}};
  Host host;
  EXPECT_EQ(pin_request_of(request, &host).object, PinObject::kCore);
  host.pin_domain = "numa";
  EXPECT_EQ(pin_request_of(request, &host).object, PinObject::kNuma);
  host.pin_domain.clear();
  host.binding = "socket";
  EXPECT_EQ(pin_request_of(request, &host).object, PinObject::kPackage);
  host.where = "hosts:3:1";
  host.binding = "sockets";
  try {
    pin_request_of(request, &host);
    ADD_FAILURE() << "it was understood";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("hosts:3:1: binding=sockets: 'sockets' is not an object ("),
                      EndsWith("Try: binding=socket")));
  }
}

TEST(PinRequest, MayBeTurnedOffInTheJobFile) {
  Request request;
  request.pinning.enabled = false;
  EXPECT_EQ(pin_request_of(request, nullptr).kind, PinKind::kNone);
}

TEST(PinDomains, AreTheNodesObjects) {
  EXPECT_THAT(pins(by_domain("core"), 2), ElementsAre("0,8", "4,12"));
  EXPECT_THAT(pins(by_domain("sock"), 3), ElementsAre("0-3,8-11", "0-3,8-11", "4-7,12-15"));
  EXPECT_THAT(pins(by_domain("numa"), 2), ElementsAre("0-3,8-11", "4-7,12-15"));
  EXPECT_THAT(pins(by_domain("node"), 2), ElementsAre("0-15", "0-15"));
}

TEST(PinDomains, HaveASize) {
  EXPECT_THAT(pins(by_domain("auto"), 2), ElementsAre("0-3,8-11", "4-7,12-15"));
  EXPECT_THAT(pins(by_domain("auto:platform"), 4), ElementsAre("0-3", "8-11", "4-7", "12-15"));
  EXPECT_THAT(pins(by_domain("2"), 2), ElementsAre("0,8", "4,12"));
  EXPECT_THAT(pins(by_domain("omp"), 2, 4), ElementsAre("0-1,8-9", "4-5,12-13"));
  EXPECT_THAT(pins(by_domain("omp"), 1), ElementsAre("0-15"));
  const PinRequest cores =
      parse_pin_request({}, {{"I_MPI_PIN_DOMAIN", "2"}, {"I_MPI_PIN_CELL", "core"}});
  EXPECT_THAT(pins(cores, 2), ElementsAre("0-1,8-9", "4-5,12-13"));
}

TEST(PinDomains, ComeInAnOrder) {
  const auto ordered = [](const std::string& order) {
    return pins(parse_pin_request({}, {{"I_MPI_PIN_DOMAIN", "core"}, {"I_MPI_PIN_ORDER", order}}),
                4);
  };
  EXPECT_THAT(ordered("compact"), ElementsAre("0,8", "1,9", "2,10", "3,11"));
  EXPECT_THAT(ordered("scatter"), ElementsAre("0,8", "4,12", "1,9", "5,13"));
  EXPECT_THAT(ordered("bunch"), ElementsAre("0,8", "1,9", "4,12", "5,13"));
  EXPECT_THAT(ordered("spread"), ElementsAre("0,8", "2,10", "4,12", "6,14"));
  EXPECT_THAT(ordered("range"), ElementsAre("0,8", "1,9", "2,10", "3,11"));
}

TEST(PinDomains, OfMasksEndWithWhatIsLeft) {
  EXPECT_THAT(pins(by_domain("[f0]"), 1), ElementsAre("4-7"));
  const PinDomains domains =
      pin_domains(by_domain("[f0]"), invented_topology(2, 4, 2), 2, 0, "node1");
  EXPECT_THAT(texts(domains.of_rank), ElementsAre("4-7", "0-3,8-15"));
  EXPECT_THAT(domains.warnings,
              ElementsAre("1 mask for 2 ranks: local rank 1 gets the leftover CPUs 0-3,8-15"));
}

TEST(PinDomains, NeverLeaveTheNodesCpus) {
  const auto refused = [](const PinRequest& request, const NodeTopology& topology) {
    try {
      pin_domains(request, topology, 1, 0, "node1");
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kConfig);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  NodeTopology topology = invented_topology(1, 2);
  EXPECT_EQ(
      refused(by_domain("[0xfffffff0]"), topology),
      "node1: -genv I_MPI_PIN_DOMAIN=[0xfffffff0]: the node does not have CPU 4-31. Try: CPUs of "
      "0-1");
  topology.allowed = topology.allowed - CpuSet({0});
  EXPECT_THAT(refused(by_domain("[1]"), topology), HasSubstr("cpuset there keeps out CPU 0"));
  EXPECT_THAT(refused(by_list("0"), topology), HasSubstr("keeps out CPU 0"));
  EXPECT_THAT(refused(by_binding("user:0"), topology), HasSubstr("keeps out CPU 0"));
}

TEST(PinDomains, OfAProcessorListAreSingleCpus) {
  EXPECT_THAT(pins(by_list("3,1"), 3), ElementsAre("3", "1", "3"));
  EXPECT_THAT(pins(by_list("allcores"), 5), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(pins(by_list("allsocks"), 2), ElementsAre("0", "4"));
  EXPECT_THAT(pins(by_list("all"), 3), ElementsAre("0", "8", "1"));
  EXPECT_THAT(pins(by_list("allcores:map=scatter"), 4), ElementsAre("0", "4", "1", "5"));
  EXPECT_THAT(pins(by_list("allcores:grain=2,shift=2"), 8),
              ElementsAre("0", "1", "4", "5", "2", "3", "6", "7"));
  EXPECT_THAT(pins(by_list("allcores:grain=sock,shift=1"), 2), ElementsAre("0", "1"));
  EXPECT_THAT(pins(by_list("allcores:preoffset=1"), 2), ElementsAre("1", "2"));
}

TEST(PinDomains, OfHydrasUserListMayRunOut) {
  const PinDomains domains =
      pin_domains(by_binding("user:0+2,4-5x2"), invented_topology(2, 4, 2), 4, 0, "node1");
  EXPECT_THAT(texts(domains.of_rank), ElementsAre("0,2", "4-5", "4-5", ""));
  EXPECT_THAT(domains.warnings, ElementsAre(HasSubstr("local ranks from 3 on are not pinned")));
}

TEST(PinDomains, AreObjectsThatRanksAreMappedTo) {
  EXPECT_THAT(pins(by_binding("core"), 3), ElementsAre("0,8", "1,9", "2,10"));
  EXPECT_THAT(pins(by_binding("core:2"), 3), ElementsAre("0-1,8-9", "2-3,10-11", "4-5,12-13"));
  EXPECT_THAT(pins(by_binding("hwthread"), 3), ElementsAre("0", "8", "1"));
  EXPECT_THAT(pins(by_binding("rr"), 3), ElementsAre("0", "1", "2"));
  EXPECT_THAT(pins(by_binding("socket"), 3), ElementsAre("0-3,8-11", "4-7,12-15", "0-3,8-11"));
  EXPECT_THAT(pins(by_binding("core", "socket"), 4), ElementsAre("0,8", "4,12", "1,9", "5,13"));
  EXPECT_THAT(pins(by_binding("core", "numa"), 2), ElementsAre("0,8", "4,12"));
  EXPECT_THAT(pins(by_binding("", "ppr:2:socket"), 4), ElementsAre("0,8", "1,9", "4,12", "5,13"));
  EXPECT_THAT(pins(by_binding("", "socket:PE=2"), 4),
              ElementsAre("0-1,8-9", "4-5,12-13", "2-3,10-11", "6-7,14-15"));
  EXPECT_THAT(pins(by_binding("", "slot:PE=4"), 2), ElementsAre("0-3,8-11", "4-7,12-15"));
  EXPECT_THAT(pins(by_binding("core:overload-allowed"), 1), ElementsAre("0,8"));
}

TEST(PinDomains, BindingRefusesDevicesAndNonsense) {
  PinOptions options;
  options.bind_to = "gpu:0";
  EXPECT_THAT(refusal(options), HasSubstr("'gpu' asks for something that dtlaunch does not look"));
  options.bind_to = "chip";
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("--bind-to chip: 'chip' is not an object (none, rr"),
                    EndsWith("Try: --bind-to core")));
  options.bind_to = "cores:2";
  EXPECT_THAT(refusal(options), EndsWith("Try: --bind-to core:2"));
  options.bind_to = "sokcet";
  EXPECT_THAT(refusal(options), EndsWith("Try: --bind-to socket"));
  options.bind_to = "user:0+x";
  EXPECT_THAT(refusal(options), HasSubstr("user:0+x"));
  options.bind_to.clear();
  options.map_by = "ppr:2";
  EXPECT_THAT(refusal(options), HasSubstr("--map-by ppr:2"));
  options.map_by.clear();
  options.memory_bind = "nexttouch";
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("is a policy that Linux does not have"),
                                      EndsWith("Try: --membind bind")));
}

TEST(PinBinding, SaysWhichHostsRanksGoTo) {
  EXPECT_TRUE(placement_of_map("node").round_robin);
  EXPECT_FALSE(placement_of_map("socket").round_robin);
  EXPECT_EQ(placement_of_map("ppr:3:node").ranks_per_node, 3);
  EXPECT_EQ(placement_of_map("ppr:3:socket").ranks_per_node, std::nullopt);
  for (const char* text : {":OVERSUBSCRIBE", "slot:oversubscribe", "core:PE=2,OVERSUBSCRIBE"}) {
    EXPECT_TRUE(placement_of_map(text).oversubscribe) << text;
  }
  EXPECT_FALSE(placement_of_map("slot:NOOVERSUBSCRIBE").oversubscribe);
  EXPECT_EQ(by_binding("", "node").kind, PinKind::kDefault);
  EXPECT_EQ(by_binding("", "ppr:2:node").kind, PinKind::kDefault);
}

}  // namespace
}  // namespace dtl::pin_request_test
