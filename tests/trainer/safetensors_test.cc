#include "trainer/files/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/files/tensor_files.h"

namespace dtl::trainer::safetensors_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

TensorMap read(const std::string& bytes) {
  const TemporaryFolder folder;
  return read_safetensors(folder.write("t.safetensors", bytes));
}

std::string read_error(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("t.safetensors"));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Safetensors, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const TensorMap tensors = {
      {"b", {{2, 3}, {1, 2, 3, 4, 5, -0.5F}}}, {"a \"x\"", {{}, {7}}}, {"empty", {{0, 4}, {}}}};
  write_safetensors(folder.file("t.safetensors"), tensors);
  const TensorMap again = read_safetensors(folder.file("t.safetensors"));
  ASSERT_EQ(again.size(), 3u);
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(again.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(again.at(name).values, tensor.values) << name;
  }
}

TEST(Safetensors, WritesBytesAsTheFormatDemands) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("t"), {{"x", {{1}, {1.0F}}}});
  const std::string bytes = read_file(folder.file("t"), 4096);
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(bytes, file_of(padded, std::string("\x00\x00\x80\x3F", 4)));
}

TEST(Safetensors, ConvertsOtherTypesAndReadsNoWholeNumbers) {
  const double wide = 0.1;
  std::string data("\x00\x3C\x00\xC0\x01\x00\x00\x7C", 8);  // F16: 1, -2, smallest, infinity
  data += std::string("\x80\x3F\x49\x40", 4);               // BF16: 1, 3.140625
  data.append(reinterpret_cast<const char*>(&wide), 8);
  data += std::string(8, '\x01');
  const TensorMap tensors =
      read(file_of(R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
                   R"("d":{"dtype":"F64","shape":[1],"data_offsets":[12,20]},)"
                   R"("position_ids":{"dtype":"I64","shape":[1],"data_offsets":[20,28]}}  )",
                   data));
  EXPECT_THAT(tensors.at("h").values, ElementsAre(1, -2, std::ldexp(1.0F, -24), INFINITY));
  EXPECT_THAT(tensors.at("b").values, ElementsAre(1, 3.140625F));
  EXPECT_THAT(tensors.at("d").values, ElementsAre(0.1F));
  EXPECT_TRUE(tensors.at("position_ids").values.empty());
  EXPECT_EQ(tensors.at("position_ids").whole_type, "I64");
}

TEST(Safetensors, ConvertsSmallHalvesOnACpuThatTakesSubnormalsForZero) {
  const unsigned before = ::_mm_getcsr();
  ::_mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero: as dttrain runs
  const TensorMap tensors =
      read(file_of(R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})",
                   std::string("\x01\x00\xFF\x83\x00\x04\xFF\x7B", 8)));
  ::_mm_setcsr(before);
  EXPECT_THAT(tensors.at("h").values, ElementsAre(std::ldexp(1.0F, -24), -std::ldexp(1023.0F, -24),
                                                  std::ldexp(1.0F, -14), 65504.0F));
}

TEST(Safetensors, ShowsNoControlBytesOfNames) {
  const std::string text = read_error(
      file_of(R"({"x\u001b[2J":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}})", "00000000"));
  EXPECT_THAT(text, HasSubstr("tensor 'x?[2J': dtype 'Q4' is not supported"));
}

std::string one(const std::string& type, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", type, shape,
                     offsets);
}

TEST(Safetensors, RefusesWhatDoesNotFit) {
  const std::string data(8, '\0');
  EXPECT_THAT(read_error("short"), HasSubstr("shorter than 8"));
  EXPECT_THAT(read_error(std::string(8, '\xFF')), HasSubstr("header claims"));
  EXPECT_THAT(read_error(file_of("[]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(read_error(file_of(" {}", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(read_error(file_of("{\"x\":", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(read_error(file_of(one("F32", "[2]", "[0,8]"), data + "z")), HasSubstr("9"));
  EXPECT_THAT(read_error(file_of(one("F32", "[2]", "[0,8]"), "")), HasSubstr("8"));
  EXPECT_THAT(read_error(file_of(one("F32", "[2]", "[4,12]"), data + "zzzz")),
              HasSubstr("starts at byte 4"));
  EXPECT_THAT(read_error(file_of(one("F32", "[3]", "[0,8]"), data)), HasSubstr("'x'"));
  EXPECT_THAT(read_error(file_of(one("F32", "[2]", "[8,0]"), data)), HasSubstr("'x'"));
  EXPECT_THAT(read_error(file_of(one("F32", "[-2]", "[0,8]"), data)), HasSubstr("'x'"));
  EXPECT_THAT(read_error(file_of(one("Q4", "[2]", "[0,8]"), data)), HasSubstr("'Q4'"));
  EXPECT_THAT(read_error(file_of(R"({"x":{"dtype":"F32"}})", data)), HasSubstr("'x'"));
  EXPECT_THAT(read_error(file_of(one("F32", "[4611686018427387904,4]", "[0,0]"), "")),
              HasSubstr("too large"));
}

TEST(Safetensors, RefusesDeeplyNestedHeaders) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(read_error(file_of(one("F32", deep, "[0,8]"), "00000000")),
              HasSubstr("a list or object is not a size"));
}

TEST(Safetensors, RefusesOverlapsHolesAndDoubleNames) {
  const auto two = [](const std::string& name, int begin, int end) {
    return fmt::format(R"({{"x":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}},)"
                       R"("{}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}})",
                       name, begin, end);
  };
  EXPECT_THAT(read_error(file_of(two("x", 4, 8), "00000000")), HasSubstr("twice"));
  EXPECT_THAT(read_error(file_of(two("y", 2, 6), "000000")), HasSubstr("'y' starts at byte 2"));
  EXPECT_THAT(read_error(file_of(two("y", 6, 10), "0000000000")),
              HasSubstr("'y' starts at byte 6"));
}

TEST(Safetensors, FollowsAnIndex) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("a.safetensors"), {{"x", {{1}, {1}}}});
  write_safetensors(folder.file("b.safetensors"), {{"y", {{1}, {2}}}});
  const std::string index = folder.write(
      "model.safetensors.index.json",
      R"({"metadata": {}, "weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
  EXPECT_EQ(read_tensors(index).size(), 2u);
  folder.write("model.safetensors.index.json", R"({"weight_map": {"x": "../a.safetensors"}})");
  EXPECT_THROW(read_tensors(index), Error);
}

TEST(Safetensors, NeverCrashesOnDamagedFiles) {
  const TemporaryFolder folder;
  const std::string good = file_of(R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                                   R"("b":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}})",
                                   std::string(12, '\x3C'));
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.resize(at);
          break;
        case 2:
          bytes.insert(at, 1, "0129[]{},:\"-e"[random() % 13]);
          break;
        default:
          bytes.erase(at, 1);
      }
      if (bytes.empty()) bytes.push_back('{');
    }
    try {
      read_safetensors(folder.write("t", bytes));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace dtl::trainer::safetensors_test
