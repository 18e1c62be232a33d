#include "plan/request/hostfile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::hostfile_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "user@name/port*slots" without missing parts.
std::string short_form(const Host& host) {
  return fmt::format("{}{}{}{}", host.user.empty() ? "" : host.user + "@", host.name,
                     host.port == 0 ? "" : fmt::format("/{}", host.port),
                     host.slots ? fmt::format("*{}", *host.slots) : "");
}

std::vector<std::string> short_forms(const std::vector<Host>& hosts) {
  std::vector<std::string> texts;
  for (const Host& host : hosts) texts.push_back(short_form(host));
  return texts;
}

std::vector<std::string> hosts_of(std::string_view text) {
  return short_forms(parse_hostfile(text, "hosts"));
}

std::string error_of(std::string_view text) {
  try {
    parse_hostfile(text, "hosts");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(Hostfile, TakesNamesInFileOrder) {
  EXPECT_THAT(hosts_of("node02\nnode01\n"), ElementsAre("node02", "node01"));
}

TEST(Hostfile, TakesSlotsInBothDialects) {
  EXPECT_THAT(hosts_of("a:2\nb slots=4\nc ppn=3\nd COUNT=1"),
              ElementsAre("a*2", "b*4", "c*3", "d*1"));
}

TEST(Hostfile, TakesCommentsAtAnyPlace) {
  EXPECT_THAT(hosts_of("# all\n  // more\na #x\nb:2//y\nc slots=2 # z\n\n   \n#"),
              ElementsAre("a", "b*2", "c*2"));
}

TEST(Hostfile, TakesForeignLineEndsTabsAndByteOrderMark) {
  EXPECT_THAT(hosts_of("\xef\xbb\xbf"
                       "a\tslots=2\r\n\r\n\tb\r\n"),
              ElementsAre("a*2", "b"));
}

TEST(Hostfile, TakesAddresses) {
  EXPECT_THAT(hosts_of("10.0.0.1:2\n::1\n[fe80::2]:3\n[fe80::3]\nfe80::4%eth0 slots=2"),
              ElementsAre("10.0.0.1*2", "::1", "fe80::2*3", "fe80::3", "fe80::4%eth0*2"));
}

TEST(Hostfile, TakesUserAndPort) {
  EXPECT_THAT(hosts_of("al@a:2\nb user=bo port=2222\nc user-name=cy"),
              ElementsAre("al@a*2", "bo@b/2222", "cy@c"));
}

TEST(Hostfile, GivesTheSlotsOfALineToEachHostOfARange) {
  EXPECT_THAT(hosts_of("[n01-n02] slots=2\nal@m[1,3]:4"),
              ElementsAre("n01*2", "n02*2", "al@m1*4", "al@m3*4"));
}

TEST(Hostfile, RefusesSectionsAndTakesRangesInBrackets) {
  for (const char* line : {"[cluster]", "[gpu-nodes]", " [all:vars] ", "[web1]"}) {
    EXPECT_THAT(error_of(line), HasSubstr("is a section, and hostfiles have none")) << line;
  }
  EXPECT_THAT(hosts_of("[n01-n02]\n[a,b]\n[fe80::2]\n[10-11].x"),
              ElementsAre("n01", "n02", "a", "b", "fe80::2", "10.x", "11.x"));
}
TEST(Hostfile, RemembersWhereAHostStands) {
  const std::vector<Host> hosts = parse_hostfile("\n  a\nb", "dir/hosts");
  EXPECT_EQ(hosts.at(0).where, "dir/hosts:2:3");
  EXPECT_EQ(hosts.at(1).where, "dir/hosts:3:1");
}

TEST(Hostfile, AddsTheSlotsOfAHostNamedAgain) {
  EXPECT_THAT(hosts_of("a:2\nb:1\nA:3"), ElementsAre("a*5", "b*1"));
  EXPECT_THAT(hosts_of("::1 slots=1\n[0:0::1]:2"), ElementsAre("::1*3"));
}

TEST(Hostfile, CountsMentionsWhereNoLineGivesSlots) {
  EXPECT_THAT(hosts_of("a\na\nb\na"), ElementsAre("a*3", "b"));
}

TEST(Hostfile, TellsHostsBehindOneAddressApartByPort) {
  EXPECT_THAT(hosts_of("a port=1\na port=2"), ElementsAre("a/1", "a/2"));
}

TEST(Hostfile, TakesCommentsOverLines) {
  EXPECT_THAT(hosts_of("a /* b\nc */\n/* d */ e\n# /* f\ng"), ElementsAre("a", "e", "g"));
  EXPECT_EQ(error_of("a\n b /* c\n"),
            "hosts:2:4: the comment that begins here has no end. Try: */");
}

TEST(Hostfile, SaysThatRankFilesAreAnotherThing) {
  EXPECT_EQ(error_of("rank 0=node01 slot=1"),
            "hosts:1:1: Open MPI's rank files are not supported. Try: -rankmap 0,0,1");
}

TEST(Hostfile, LeavesExcludedHostsOut) {
  EXPECT_THAT(hosts_of("n[1-4]\n^N2\n^n[4]\n"), ElementsAre("n1", "n3"));
  EXPECT_EQ(error_of("a\n^a"),
            "hosts:1:1: the file names no host. Try: one host per line, such as node01 slots=2");
  EXPECT_EQ(error_of("node1\nnode2\n^node9\n"),
            "hosts:3:1: '^node9' leaves out a host that is not there. Try: ^node1");
  EXPECT_EQ(error_of("^a slots=2"),
            "hosts:1:1: '^a' leaves a host out and says more. Try: ^host alone on its line");
}

TEST(Hostfile, TakesMaxSlotsInAllItsSpellings) {
  for (const char* key :
       {"max_slots", "max-slots", "max_slot", "slots_max", "slots-max", "slot_max", "maxslots",
        "MAX_SLOTS", "cpus_max", "max-cpus", "count_max", "cpu_max"}) {
    EXPECT_EQ(parse_hostfile(fmt::format("a slots=2 {}=3", key), "hosts").at(0).max_slots, 3)
        << key;
  }
  EXPECT_EQ(error_of("a slots=4 max_slots=2"),
            "hosts:1:1: slots=4 is more than max_slots=2. Try: max_slots=4");
}

TEST(Hostfile, TakesWhatHoldsForOneHostAlone) {
  const Host host = parse_hostfile(
      "a addr=[fe80::1] iface=eth1 pin_domain=[0xf0,0xf] binding=socket sockets=2 cores=8",
      "hosts")[0];
  EXPECT_EQ(host.address, "fe80::1");
  EXPECT_EQ(host.interface, "eth1");
  EXPECT_EQ(host.pin_domain, "[0xf0,0xf]");
  EXPECT_EQ(host.binding, "socket");
  EXPECT_EQ(error_of("a addr=b"), "hosts:1:8: 'b' is not a numeric address. Try: addr=10.0.0.1");
  EXPECT_EQ(
      error_of("n[1-2] addr=10.0.0.1"),
      "hosts:1:1: 'n[1-2]' is 2 hosts, and addr=10.0.0.1 is one. Try: one line for each host");
}

TEST(Hostfile, RefusesAHostNamedAgainInAnotherWay) {
  EXPECT_EQ(error_of("a:2\na"),
            "hosts:2:1: 'a' is named at hosts:1:1 with a number of slots. "
            "Try: slots on both lines or on neither");
  EXPECT_EQ(error_of("al@a\nbo@a"),
            "hosts:2:1: 'a' is named at hosts:1:1 with another user. "
            "Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("a addr=10.0.0.1\na addr=10.0.0.2"),
            "hosts:2:1: 'a' is named at hosts:1:1 with addr=10.0.0.1. Try: the same on both lines");
  EXPECT_EQ(error_of("a:4 max_slots=4\na:2"),
            "hosts:2:1: 'a' is named at hosts:1:1 with max_slots. "
            "Try: max_slots on both lines or on neither");
}

TEST(Hostfile, TakesTheSettingsOfAHostFromAnyOfItsLines) {
  const std::vector<Host> hosts =
      parse_hostfile("a addr=10.0.0.1\nal@a iface=eth1 addr=10.0.0.1\na binding=core", "hosts");
  ASSERT_EQ(hosts.size(), 1U);
  EXPECT_EQ(hosts[0].slots, 3);
  EXPECT_EQ(hosts[0].user, "al");
  EXPECT_EQ(hosts[0].address, "10.0.0.1");
  EXPECT_EQ(hosts[0].interface, "eth1");
  EXPECT_EQ(hosts[0].binding, "core");
}

TEST(Hostfile, RefusesSlotsThatAreNoNumberWithLineAndColumn) {
  const std::string hint = ". Try: host:2";
  EXPECT_EQ(error_of("a\nhost:0"), "hosts:2:6: '0' is too small (1 to 65535 slots)" + hint);
  EXPECT_EQ(error_of("host:abc"), "hosts:1:6: 'abc' is not a number of slots (1 to 65535)" + hint);
  EXPECT_EQ(error_of("host:-1"), "hosts:1:6: '-1' is too small (1 to 65535 slots)" + hint);
  EXPECT_EQ(error_of("host:02"),
            "hosts:1:6: '02' is not a number of slots: it begins with 0" + hint);
  EXPECT_EQ(error_of("host:65536"), "hosts:1:6: '65536' is too large (1 to 65535 slots)" + hint);
  EXPECT_EQ(error_of("host: 2"), "hosts:1:6: the number of slots is missing" + hint);
  EXPECT_EQ(error_of("  host slots=x"),
            "hosts:1:14: 'x' is not a number of slots (1 to 65535)" + hint);
}

TEST(Hostfile, RefusesSlotsGivenTwice) {
  EXPECT_EQ(error_of("host:2 slots=4"),
            "hosts:1:1: 'host:2' and slots=4 both give slots. Try: one of the two");
  EXPECT_EQ(error_of("a slots=2 np=2"),
            "hosts:1:11: 'np=2' says again what the line has said. "
            "Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("x@a user=y"),
            "hosts:1:1: 'x@a' and user=y both give a user. Try: one of the two");
}

TEST(Hostfile, SuggestsTheNearestKey) {
  EXPECT_EQ(error_of("a slos=2"), "hosts:1:3: unknown key 'slos'. Try: slots=...");
  EXPECT_EQ(error_of("a gpus_here=1"),
            "hosts:1:3: unknown key 'gpus_here'. Try: slots=N, user=NAME or port=N");
}

TEST(Hostfile, RefusesBlanksInsideAnItem) {
  const std::string text = "blank beside '='. Try: slots=4, without blanks";
  EXPECT_EQ(error_of("a slots = 4"), "hosts:1:3: " + text);
  EXPECT_EQ(error_of("a slots= 4"), "hosts:1:3: " + text);
  EXPECT_EQ(error_of("a slots =4"), "hosts:1:3: " + text);
  EXPECT_EQ(error_of("a :2"), "hosts:1:3: blank before ':2'. Try: host:2, without blanks");
  EXPECT_EQ(error_of("n[01, 02]"), "hosts:1:2: '[01,' has no ']'. Try: n[01-04], without blanks");
}

TEST(Hostfile, RefusesASecondHostOnALine) {
  EXPECT_EQ(error_of("a b"),
            "hosts:1:3: unexpected 'b' after the host. "
            "Try: one host per line, then slots=N, user=NAME or port=N");
  EXPECT_EQ(error_of("a,b"), "hosts:1:2: ',' between host names. Try: one host per line");
  EXPECT_EQ(error_of("a 4"), "hosts:1:3: unexpected number '4'. Try: slots=4");
}

TEST(Hostfile, RefusesNamesThatAreNone) {
  EXPECT_EQ(error_of("-oProxyCommand=x"),
            "hosts:1:1: the host name '-oProxyCommand=x' starts with '-'. "
            "Try: a name that starts with a letter or a digit");
  EXPECT_EQ(error_of("-v"),
            "hosts:1:1: the host name '-v' starts with '-'. "
            "Try: a name that starts with a letter or a digit");
  EXPECT_EQ(error_of("al@-v:2"),
            "hosts:1:4: the host name '-v:2' starts with '-'. "
            "Try: a name that starts with a letter or a digit");
  EXPECT_EQ(error_of("no$de"),
            "hosts:1:3: '$' cannot stand in a host name. Try: letters, digits, '.', '_' and '-'");
  EXPECT_EQ(error_of("n\xc3\xb6rd"),
            "hosts:1:2: byte 0xc3 cannot stand in a host name. "
            "Try: letters, digits, '.', '_' and '-'");
  EXPECT_EQ(error_of("slots=4"), "hosts:1:1: no host before 'slots=4'. Try: host slots=4");
  EXPECT_EQ(error_of(":4"), "hosts:1:1: no host name before ':4'. Try: host:2, without blanks");
}

TEST(Hostfile, RefusesNumbersThatAreNoAddress) {
  EXPECT_EQ(error_of("10.0.0.256"),
            "hosts:1:1: '10.0.0.256' is neither a host name nor an IPv4 address. "
            "Try: four numbers from 0 to 255, such as 10.0.0.1");
  EXPECT_EQ(error_of("fe80:1:2"),
            "hosts:1:1: 'fe80:1:2' is neither host:slots nor an IPv6 address. "
            "Try: host:2 or [fe80::1]:2");
  EXPECT_EQ(error_of("[fe80:1]"),
            "hosts:1:1: 'fe80:1' is not an IPv6 address. "
            "Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("fe80::1%e,0"),
            "hosts:1:1: 'fe80::1%e,0' is neither host:slots nor an IPv6 address. "
            "Try: host:2 or [fe80::1]:2");
  EXPECT_EQ(error_of("[::1]x"), "hosts:1:6: 'x' after the address. Try: [::1]:2");
}

TEST(Hostfile, RefusesUsersThatAreNone) {
  EXPECT_EQ(error_of("a@b@c"), "hosts:1:4: a second '@'. Try: user@host");
  EXPECT_EQ(error_of("@a"), "hosts:1:1: the user name is missing. Try: user@host");
  EXPECT_EQ(error_of("al@"), "hosts:1:4: a host name is missing. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("a user=-x"),
            "hosts:1:8: the user name '-x' starts with '-'. "
            "Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("a port=0"), "hosts:1:8: '0' is not a port (1 to 65535). Try: port=22");
}

TEST(Hostfile, RefusesOpenMpisRelativeHosts) {
  EXPECT_EQ(error_of("+n2"),
            "hosts:1:1: '+n2': Open MPI's relative hosts are not supported. "
            "Try: the names of the hosts to use, one per line");
}

TEST(Hostfile, NeverTakesAnEmptyFileForThisMachine) {
  const std::string text =
      "hosts:1:1: the file names no host. Try: one host per line, such as node01 slots=2";
  EXPECT_EQ(error_of(""), text);
  EXPECT_EQ(error_of("# nothing\n\n // here\n"), text);
}

TEST(Hostfile, RefusesBinaryFiles) {
  EXPECT_EQ(error_of(std::string_view("a\n\x7f"
                                      "ELF\0",
                                      7)),
            "hosts:2:5: byte 0x00 does not belong in a text file. "
            "Try: a hostfile of plain text, one host per line");
}

TEST(Hostfile, BoundsTheNumberOfHosts) {
  EXPECT_EQ(error_of("a[1-65536]\nb"),
            "hosts:2:1: more than 65536 hosts. Try: dtlaunch help hostfile");
  EXPECT_EQ(error_of("a:65535\na:1"),
            "hosts:2:1: 'a' has more than 65535 slots. Try: dtlaunch help hostfile");
}

std::string option_error(std::string_view value) {
  try {
    parse_host_option(value);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(HostOption, SplitsAtCommasOutsideBrackets) {
  EXPECT_THAT(short_forms(parse_host_option("a,bo@b:2,n[01-02,4],[::1]:3")),
              ElementsAre("a", "bo@b*2", "n01", "n02", "n4", "::1*3"));
}

TEST(HostOption, SaysTheColumn) {
  EXPECT_EQ(option_error("a,,b"),
            "-hosts a,,b: column 3: a host name is missing. Try: -hosts node01,node02:2");
  EXPECT_EQ(option_error("a,b:0"),
            "-hosts a,b:0: column 5: '0' is too small (1 to 65535 slots). Try: host:2");
  EXPECT_EQ(option_error("a, b"),
            "-hosts 'a, b': column 3: byte 0x20 cannot stand in a host name. "
            "Try: letters, digits, '.', '_' and '-'");
  EXPECT_EQ(option_error(""),
            "-hosts '': column 1: a host name is missing. Try: -hosts node01,node02:2");
}

}  // namespace
}  // namespace dtl::hostfile_test
