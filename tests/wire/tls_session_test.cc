#include "wire/tls/tls_session.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/error.h"

namespace dtl::tls_session_test {
namespace {

using Side = TlsSession::Side;

const std::string kSecret(32, 's');

// Carries bytes both ways until nothing moves. Returns either side's error.
std::optional<Error> shake_hands(TlsSession& listener, TlsSession& caller) {
  for (int round = 0; round < 10; ++round) {
    bool proved = true;
    for (TlsSession* side : {&caller, &listener}) {
      TlsSession& other = side == &caller ? listener : caller;
      std::optional<Error> refused;
      try {
        proved = side->shake_hands() && proved;
      } catch (const Error& error) {
        refused = error;
      }
      other.feed(side->take_output());
      if (refused) return refused;
    }
    if (proved) return std::nullopt;
  }
  return Error(Exit::kInternal, "no end", "");
}

TEST(TlsSession, CarriesBytesBothWaysUnderOneSecret) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, kSecret);
  ASSERT_FALSE(shake_hands(listener, caller));
  const std::string question(100'000, 'q');
  caller.write(question);
  listener.feed(caller.take_output());
  std::string heard;
  for (std::string some; !(some = listener.read()).empty();) heard += some;
  EXPECT_EQ(heard, question);
  listener.write("answer");
  caller.feed(listener.take_output());
  EXPECT_EQ(caller.read(), "answer");
}

TEST(TlsSession, WhatIsCarriedShowsNeitherBytesNorSecret) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, kSecret);
  ASSERT_FALSE(shake_hands(listener, caller));
  const std::string plain(64, 'p');
  caller.write(plain);
  const std::string carried = caller.take_output();
  EXPECT_EQ(carried.find("pppp"), std::string::npos);
  EXPECT_EQ(carried.find("ssss"), std::string::npos);
}

TEST(TlsSession, AnotherSecretIsNoProof) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, std::string(32, 't'));
  const auto refused = shake_hands(listener, caller);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status(), Exit::kAuth);
  EXPECT_EQ(std::string(refused->what()).find("ssss"), std::string::npos);
}

TEST(TlsSession, ASecretServesOnePurpose) {
  TlsSession listener(Side::kListens, kSecret, kEdgePurpose);
  TlsSession caller(Side::kCalls, kSecret, kBranchPurpose);
  EXPECT_TRUE(shake_hands(listener, caller));
}

TEST(TlsSession, TheCallerLearnsThatItsSecretIsAnother) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, std::string(32, 't'));
  caller.shake_hands();
  listener.feed(caller.take_output());
  EXPECT_THROW(listener.shake_hands(), Error);
  caller.feed(listener.take_output());
  EXPECT_THROW(caller.shake_hands(), Error);
}

TEST(TlsSession, GarbageIsNoProof) {
  TlsSession listener(Side::kListens, kSecret);
  listener.feed("GET / HTTP/1.1\r\nHost: node0\r\n\r\n");
  EXPECT_THROW(listener.shake_hands(), Error);
}

TEST(TlsSession, ABitThatIsChangedOnTheWayIsAnError) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, kSecret);
  ASSERT_FALSE(shake_hands(listener, caller));
  caller.write("stop rank 3");
  std::string carried = caller.take_output();
  carried.back() = static_cast<char>(carried.back() ^ 1);
  listener.feed(carried);
  EXPECT_THROW(listener.read(), Error);
}

TEST(TlsSession, ReplayedBytesAreAnError) {
  TlsSession listener(Side::kListens, kSecret), caller(Side::kCalls, kSecret);
  ASSERT_FALSE(shake_hands(listener, caller));
  caller.write("stop rank 3");
  const std::string carried = caller.take_output();
  listener.feed(carried);
  EXPECT_EQ(listener.read(), "stop rank 3");
  listener.feed(carried);
  EXPECT_THROW(listener.read(), Error);
}

TEST(TlsSession, WhatOneSideSaysIsNoAnswerToItself) {
  TlsSession caller(Side::kCalls, kSecret);
  caller.shake_hands();
  caller.feed(caller.take_output());
  EXPECT_THROW(caller.shake_hands(), Error);
}

}  // namespace
}  // namespace dtl::tls_session_test
