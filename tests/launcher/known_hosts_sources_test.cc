#include "launcher/ssh/known_hosts_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dtl::known_hosts_sources_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SshSettings settings_of(const std::string& name, int port = 22, const std::string& address = {}) {
  SshSettings settings;
  settings.name = settings.key_name = name;
  settings.address = address.empty() ? name : address;
  settings.port = port;
  settings.user = "al";
  settings.home = "/home/me";
  return settings;
}

KnownHostsSources parse(const std::string& text) {
  return parse_sources(text, settings_of("node1", 2223), {"ssh-ed25519", "AAAA", "SHA256:abc"});
}

TEST(KnownHostsSources, TriesTheNameWithItsPortFirst) {
  EXPECT_THAT(known_names(settings_of("Node1"), {}), ElementsAre("node1"));
  EXPECT_THAT(known_names(settings_of("node1", 2223), {}), ElementsAre("[node1]:2223", "node1"));
  EXPECT_THAT(known_names(settings_of("node1", 2223, "10.0.0.1"), {}),
              ElementsAre("[node1]:2223", "node1", "[10.0.0.1]:2223", "10.0.0.1"));
  EXPECT_THAT(known_names(settings_of("node1", 2223), "Farm"), ElementsAre("farm"));
}

TEST(KnownHostsSources, ReadsWhatSshSays) {
  const KnownHostsSources sources = parse(
      "port 2223\nhostkeyalias farm\nuserknownhostsfile ~/.ssh/a %d/b\n"
      "globalknownhostsfile /no/such/c\n");
  EXPECT_EQ(sources.alias, "farm");
  EXPECT_THAT(sources.files, ElementsAre("/home/me/.ssh/a", "/home/me/b",
                                         "/home/me/.ssh/a /home/me/b", "/no/such/c"));
  EXPECT_THAT(sources.command, IsEmpty());
  EXPECT_THAT(sources.left_out, IsEmpty());
}

TEST(KnownHostsSources, CallsTheCommandWithItsTokens) {
  EXPECT_THAT(parse("knownhostscommand /opt/keys %H %t %K %f %r %p '%n x' a\\ b\n").command,
              ElementsAre("/opt/keys", "[node1]:2223", "ssh-ed25519", "AAAA", "SHA256:abc", "al",
                          "2223", "node1 x", "a b"));
  EXPECT_THAT(parse("knownhostscommand none\n").command, IsEmpty());
}

TEST(KnownHostsSources, SaysWhatItCannotFillIn) {
  const KnownHostsSources sources =
      parse("userknownhostsfile /k/%C\nknownhostscommand /opt/keys %C\n");
  EXPECT_THAT(sources.files, IsEmpty());
  EXPECT_THAT(sources.command, IsEmpty());
  EXPECT_THAT(sources.left_out,
              ElementsAre("UserKnownHostsFile /k/%C (it has a token that dtlaunch cannot fill in)",
                          "KnownHostsCommand /opt/keys %C (it has a token that dtlaunch cannot "
                          "fill in)"));
}

TEST(KnownHostsSources, AsksSshWhereItsConfigurationIsAboutThem) {
  std::string home = testing::TempDir() + "/sources.XXXXXX";
  ASSERT_NE(::mkdtemp(home.data()), nullptr);
  std::filesystem::create_directory(home + "/.ssh");
  const auto asks = [&](const std::string& config) {
    std::ofstream(home + "/.ssh/config") << config;
    return may_name_other_sources(home);
  };
  const bool machine_has_some = asks("");  // /etc/ssh may know these hosts too
  if (!machine_has_some) {
    EXPECT_FALSE(asks("Host a\n  Port 22\n# HostKeyAlias b\n  UserName knownhostscommand\n"));
  }
  EXPECT_TRUE(asks("Host a\n\tHostKeyAlias=b\n"));
  EXPECT_TRUE(asks("userknownhostsfile /k\n"));
  EXPECT_TRUE(asks("GlobalKnownHostsFile /k\n"));
  EXPECT_TRUE(asks("Match all\n KnownHostsCommand /k\n"));
  EXPECT_TRUE(asks("Include more\n"));
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace dtl::known_hosts_sources_test
