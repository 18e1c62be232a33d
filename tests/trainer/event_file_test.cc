#include "trainer/report/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "temporary_folder.h"

namespace dtl::trainer::event_file_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Values worked out by hand from the descriptions of protocol buffers and of TFRecord.
TEST(EventFile, EncodesEventsByteByByte) {
  EXPECT_EQ(to_hex(version_event(1.0)), "09000000000000f03f1a0d627261696e2e4576656e743a32");
  EXPECT_EQ(to_hex(scalar_event(1.0, 300, {{"a", 0.5}})),
            "09000000000000f03f"  // wall_time
            "10ac02"              // step
            "2a0a0a08"            // summary, one value
            "0a0161"              // tag
            "150000003f");        // simple_value
}

TEST(EventFile, PutsLengthAndChecksumsAroundAnEvent) {
  const std::string record = event_record("123456789");
  ASSERT_EQ(record.size(), 8u + 4 + 9 + 4);
  EXPECT_EQ(to_hex(record.substr(0, 8)), "0900000000000000");
  // 0xE3069283 turned right by 15 bits is 0x2507C60D; plus 0xA282EAD8: 0xC78AB0E5.
  EXPECT_EQ(to_hex(record.substr(21)), "e5b08ac7");
}

TEST(EventFile, IsCompleteAfterEachEvent) {
  const TemporaryFolder folder;
  EventFile file(folder.file("runs/one"));
  EXPECT_THAT(file.path(), HasSubstr("/runs/one/events.out.tfevents."));
  const std::string begin = read_file(file.path(), 1 << 20);
  EXPECT_THAT(begin, HasSubstr("brain.Event:2"));
  file.add(7, {{"train/loss", 0.25}});
  const std::string all = read_file(file.path(), 1 << 20);
  EXPECT_THAT(all, StartsWith(begin));
  EXPECT_THAT(all.substr(begin.size()), HasSubstr("train/loss"));
}

TEST(EventFile, NamesAFolderThatCannotBeMade) {
  try {
    EventFile file("/proc/nothing");
    FAIL() << "created";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/nothing/events.out.tfevents."));
    EXPECT_EQ(error.status(), Exit::kCannotWrite);
  }
}

TEST(EventFile, GoesWhereTransformersPutsIt) {
  EXPECT_THAT(default_logging_dir("out"),
              testing::MatchesRegex("out/runs/[A-Z][a-z][a-z][0-9][0-9]_[0-9-]+_.+"));
}

}  // namespace
}  // namespace dtl::trainer::event_file_test
