#include "wire/tree/parcel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "wire/task_group.h"
#include "wire/tree/branch_stream.h"

namespace dtl::parcel_test {
namespace {

TEST(Parcel, ArrivesAsItWasSentInPiecesOfAnySize) {
  const std::vector<Parcel> sent = {{ParcelKind::kArrived, 70000, 1, ""},
                                    {ParcelKind::kBytes, 3, 2, std::string(kMaxParcelBytes, 'x')},
                                    {ParcelKind::kPulse, 0, 0, ""},
                                    {ParcelKind::kBytes, UINT32_MAX, UINT32_MAX, "\0\xff"},
                                    {ParcelKind::kLeft, 3, 2, ""}};
  std::string bytes;
  for (const Parcel& parcel : sent) encode_parcel(parcel, bytes);
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{13}, std::size_t{5000}, bytes.size()}) {
    ParcelReader reader;
    std::vector<Parcel> received;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (auto parcel = reader.next()) received.push_back(std::move(*parcel));
    }
    EXPECT_TRUE(reader.is_empty());
    ASSERT_EQ(received.size(), sent.size()) << step;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(received[i].kind, sent[i].kind);
      EXPECT_EQ(received[i].node, sent[i].node);
      EXPECT_EQ(received[i].stream, sent[i].stream);
      EXPECT_EQ(received[i].bytes, sent[i].bytes);
    }
  }
}

TEST(Parcel, OfAnUnknownKindOrTooLongIsRefusedBeforeItsBytesCome) {
  for (const char kind : {'\0', '\7', '\xff'}) {
    ParcelReader reader;
    reader.feed(std::string(1, kind) + std::string(12, '\0'));
    EXPECT_THROW(reader.next(), Error);
  }
  std::string bytes;
  encode_parcel({ParcelKind::kBytes, 1, 1, std::string(kMaxParcelBytes + 1, 'x')}, bytes);
  ParcelReader reader;
  reader.feed(bytes.substr(0, kParcelHeadBytes));
  EXPECT_THROW(reader.next(), Error);
}

TEST(Parcel, NamesNodesAsRanges) {
  const std::vector<std::uint32_t> nodes = {0, 1, 2, 7, 9, 10};
  const std::string bytes = encode_nodes(nodes);
  EXPECT_EQ(bytes.size(), 3 * 8u);
  EXPECT_EQ(decode_nodes(bytes, 11), nodes);
  EXPECT_THROW(decode_nodes(bytes, 10), Error);
  EXPECT_THROW(decode_nodes(bytes.substr(1), 11), Error);
  EXPECT_THROW(decode_nodes(bytes.substr(8) + bytes.substr(0, 8), 11), Error);
  EXPECT_TRUE(decode_nodes("", 0).empty());
}

TEST(BranchStream, CarriesBytesAndEndsForBothSides) {
  asio::io_context context;
  std::string sent;
  int closed = 0;
  BranchStream branch(
      context,
      [&](std::string bytes) -> awaitable<void> {
        EXPECT_LE(bytes.size(), kMaxParcelBytes);
        sent += bytes;
        co_return;
      },
      [&] { ++closed; });
  std::vector<std::string> read;
  bool write_failed = false;
  TaskGroup tasks(context);
  tasks.spawn([](BranchStream& from, std::vector<std::string>& to) -> awaitable<void> {
    do to.push_back(co_await from.read());
    while (!to.back().empty());
  }(branch, read));
  tasks.spawn([](BranchStream& to, bool& failed) -> awaitable<void> {
    co_await to.write(std::string(3 * kMaxParcelBytes + 1, 'w'));
    to.feed("one");
    to.end();
    try {
      co_await to.write("late");
    } catch (const Error&) {
      failed = true;
    }
  }(branch, write_failed));
  context.run();
  EXPECT_EQ(sent, std::string(3 * kMaxParcelBytes + 1, 'w'));
  EXPECT_EQ(read, (std::vector<std::string>{"one", ""}));
  EXPECT_TRUE(write_failed);
  branch.close();
  EXPECT_EQ(closed, 0);  // the branch had ended already
}

}  // namespace
}  // namespace dtl::parcel_test
