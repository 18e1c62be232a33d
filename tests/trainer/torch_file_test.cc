#include "trainer/files/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/torch_bytes.h"
#include "trainer/files/tensor_files.h"

namespace dtl::trainer::torch_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSix = float_bytes({0, 1, 2, 3, 4, 5});

TensorMap read(const std::string& bytes) {
  const TemporaryFolder folder;
  return read_torch_file(folder.write("pytorch_model.bin", bytes));
}

std::string complaint(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("pytorch_model.bin: cannot read the tensors: "));
    return error.reason();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

// One tensor `x` over the six floats 0 .. 5.
std::string one(int offset, const std::vector<int>& shape, const std::vector<int>& strides,
                int claimed = 6) {
  return torch_archive(
      pickled_state_dict({{"x", "FloatStorage", "0", claimed, offset, shape, strides}}),
      {{"0", kSix}});
}

TEST(TorchFile, ReadsTensorsOfAllTypesButNoWholeNumbers) {
  const TensorMap tensors =
      read(torch_archive(pickled_state_dict({{"f", "FloatStorage", "0", 6, 0, {2, 3}, {3, 1}},
                                             {"h", "HalfStorage", "1", 2, 0, {2}, {1}},
                                             {"b", "BFloat16Storage", "2", 1, 0, {}, {}},
                                             {"d", "DoubleStorage", "3", 1, 0, {1}, {1}},
                                             {"position_ids", "LongStorage", "4", 1, 0, {1}, {1}},
                                             {"none", "FloatStorage", "5", 0, 0, {0}, {1}}}),
                         {{"0", kSix},
                          {"1", std::string("\x00\x3C\x00\xC0", 4)},
                          {"2", std::string("\x49\x40", 2)},
                          {"3", raw(0.1)},
                          {"4", raw<std::int64_t>(7)},
                          {"5", ""}}));
  EXPECT_EQ(tensors.size(), 6U);
  EXPECT_TRUE(tensors.at("position_ids").values.empty());
  EXPECT_EQ(tensors.at("position_ids").whole_type, "torch.LongStorage");
  EXPECT_THAT(tensors.at("f").shape, ElementsAre(2, 3));
  EXPECT_THAT(tensors.at("f").values, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(tensors.at("h").values, ElementsAre(1, -2));
  EXPECT_TRUE(tensors.at("b").shape.empty());
  EXPECT_THAT(tensors.at("b").values, ElementsAre(3.140625F));
  EXPECT_THAT(tensors.at("d").values, ElementsAre(0.1F));
  EXPECT_TRUE(tensors.at("none").values.empty());
}

TEST(TorchFile, ResolvesViews) {
  EXPECT_THAT(read(one(0, {3, 2}, {1, 3})).at("x").values, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read(one(1, {2, 2}, {3, 1})).at("x").values, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(read(one(5, {1, 1}, {100, 7})).at("x").values, ElementsAre(5));
  EXPECT_THAT(read(one(0, {2, 3}, {0, 1})).at("x").values, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(TorchFile, ReadsTheFilesOfOldVersions) {
  const TensorMap tensors =
      read(old_torch_file(pickled_state_dict({{"a", "FloatStorage", "94", 6, 2, {2}, {1}},
                                              {"b", "FloatStorage", "95", 1, 0, {1}, {1}}}),
                          {{"94", kSix}, {"95", float_bytes({9})}}));
  EXPECT_THAT(tensors.at("a").values, ElementsAre(2, 3));
  EXPECT_THAT(tensors.at("b").values, ElementsAre(9));
}

TEST(TorchFile, ReadsParametersAsTensors) {
  const std::string tensor = pickled_tensor({"", "FloatStorage", "0", 6, 0, {2}, {1}});
  const std::string pickle = "\x80\x02}" + pickled_text("x") +
                             "ctorch._utils\n_rebuild_parameter\n(" + tensor +
                             "\x88"
                             "ccollections\nOrderedDict\n)RtRs.";
  EXPECT_THAT(read(torch_archive(pickle, {{"0", kSix}})).at("x").values, ElementsAre(0, 1));
}

TEST(TorchFile, RefusesToRunAnything) {
  const auto of_pickle = [](const std::string& pickle) {
    return complaint(torch_archive(pickle, {}));
  };
  EXPECT_THAT(of_pickle("\x80\x02"
                        "cos\nsystem\n" +
                        pickled_text("true") + "\x85R."),
              HasSubstr("refuses to run 'os.system'"));
  EXPECT_THAT(of_pickle("\x80\x04\x8c\x08"
                        "builtins\x8c\x04"
                        "eval\x93" +
                        pickled_text("1") + "\x85R."),
              HasSubstr("refuses to run 'builtins.eval'"));
  EXPECT_THAT(of_pickle("(" + pickled_text("true") + "iposix\nsystem\n."),
              HasSubstr("refuses to run 'posix.system'"));
  EXPECT_THAT(of_pickle("\x80\x02"
                        "ctorch\nload\n" +
                        pickled_text("x") + "\x85R."),
              HasSubstr("refuses to run 'torch.load'"));
  EXPECT_THAT(of_pickle("ccollections\nOrderedDict\n)\x81."), HasSubstr("opcode 0x81"));
  EXPECT_THAT(of_pickle("ctorch\nFloatStorage\n)R."), HasSubstr("it calls torch.FloatStorage"));
  EXPECT_THAT(of_pickle("c\x1b[2J\nsystem\n."), HasSubstr("refuses to run '?[2J.system'"));
}

TEST(TorchFile, RefusesTensorsThatDoNotFitTheirStorage) {
  EXPECT_THAT(complaint(one(0, {7}, {1})), HasSubstr("tensor 'x': it has more elements"));
  EXPECT_THAT(complaint(one(1, {6}, {1})), HasSubstr("tensor 'x': it reaches beyond"));
  EXPECT_THAT(complaint(one(0, {2}, {6})), HasSubstr("tensor 'x': it reaches beyond"));
  EXPECT_THAT(complaint(one(7, {0}, {1})), HasSubstr("tensor 'x': it reaches beyond"));
  EXPECT_THAT(complaint(one(0, {-1}, {1})), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint(one(-1, {1}, {1})), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint(one(0, {1}, {1, 1})), HasSubstr("its strides do not fit"));
  EXPECT_THAT(complaint(one(0, {1, 1000000000}, {0, 0})), HasSubstr("more elements"));
  EXPECT_THAT(complaint(one(0, std::vector<int>(9, 2147483647), std::vector<int>(9, 0))),
              HasSubstr("its shape is too large"));
  EXPECT_THAT(complaint(one(0, {2}, {1}, 7)), HasSubstr("has only 24 bytes"));
  EXPECT_THAT(complaint(torch_archive(
                  pickled_state_dict({{"x", "FloatStorage", "8", 6, 0, {2}, {1}}}), {{"0", kSix}})),
              HasSubstr("its storage '8' is not there"));
}

TEST(TorchFile, RefusesWhatIsNoFileOfWeights) {
  const std::string good = one(0, {6}, {1});
  EXPECT_THAT(complaint("PK"), HasSubstr("shorter than 4"));
  EXPECT_THAT(complaint("hello"), HasSubstr("torch.save did not write it"));
  EXPECT_THAT(complaint("\x80\x02K\x01."), HasSubstr("torch.save did not write it"));
  EXPECT_THAT(complaint(good.substr(0, good.size() / 2)), HasSubstr("it is cut short"));
  EXPECT_THAT(complaint(zip_of({{"a/other", "x"}})), HasSubstr("without data.pkl"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "x"}}, 8)), HasSubstr("'a/data.pkl' is compressed"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "}."}, {"a/data.pkl", "}."}})),
              HasSubstr("is there twice"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "}."}, {"a/byteorder", "big"}})),
              HasSubstr("not little-endian"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "K\x01."}})), HasSubstr("no dictionary"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "}"}})), HasSubstr("byte 1: it is cut short"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "h\x01."}})), HasSubstr("did not memorise"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "t."}})), HasSubstr("lacks a mark"));
  EXPECT_THAT(complaint(zip_of({{"a/data.pkl", "}(Nu."}})), HasSubstr("a key has no value"));
}

// The same archive, with the numbers of its last member but one and of its directory in zip64's
// places, as in files of more than 4 GiB.
std::string with_zip64(std::string archive, std::uint64_t directory_moved = 0) {
  const std::size_t end = archive.rfind("PK\x05\x06");
  const std::size_t begin = archive.find("PK\x01\x02");
  const std::size_t entry = archive.find("PK\x01\x02", archive.find("archive/data/0", begin) - 46);
  const std::uint64_t size = 24;
  std::uint32_t offset = 0;
  std::memcpy(&offset, archive.data() + entry + 42, 4);
  const std::string extra = raw<std::uint16_t>(7) + raw<std::uint16_t>(0) +  // another field
                            raw<std::uint16_t>(1) + raw<std::uint16_t>(24) + raw(size) + raw(size) +
                            raw(static_cast<std::uint64_t>(offset));
  archive.resize(end);
  archive.insert(entry + 46 + std::string("archive/data/0").size(), extra);
  archive.replace(entry + 20, 8, std::string(8, '\xFF'));
  archive.replace(entry + 42, 4, std::string(4, '\xFF'));
  archive.replace(entry + 30, 2, raw(static_cast<std::uint16_t>(extra.size())));
  const std::uint64_t end64 = archive.size();
  const std::uint64_t directory = begin + directory_moved, directory_bytes = end64 - begin;
  return archive + "PK\x06\x06" + std::string(36, '\0') + raw(directory_bytes) + raw(directory) +
         "PK\x06\x07" + std::string(4, '\0') + raw(end64) + std::string(4, '\0') + "PK\x05\x06" +
         std::string(4, '\0') + std::string(12, '\xFF') + std::string(2, '\0');
}

TEST(TorchFile, ReadsArchivesOfMoreThan4GiB) {
  EXPECT_THAT(read(with_zip64(one(0, {6}, {1}))).at("x").values, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(complaint(with_zip64(one(0, {6}, {1}), 1)), HasSubstr("directory"));
  EXPECT_THAT(complaint(with_zip64(one(0, {6}, {1}), std::uint64_t{1} << 63)),
              HasSubstr("lies outside of it"));
}

TEST(TorchFile, RefusesMembersOutsideOfTheFile) {
  std::string archive = one(0, {6}, {1});
  const std::size_t entry = archive.find("PK\x01\x02");
  archive.replace(entry + 42, 4, raw<std::uint32_t>(0x7FFFFFFF));
  EXPECT_THAT(complaint(archive), HasSubstr("lies outside of it"));
  archive.replace(entry + 42, 4, raw<std::uint32_t>(1));
  EXPECT_THAT(complaint(archive), HasSubstr("the header of its member"));
  archive = one(0, {6}, {1});
  archive.replace(entry + 20, 8, raw<std::uint64_t>(0x7000000070000000));
  EXPECT_THAT(complaint(archive), HasSubstr("lies outside of it"));
}

TEST(TorchFile, IsFollowedByAnIndex) {
  const TemporaryFolder folder;
  folder.write("a.bin", one(0, {6}, {1}));
  folder.write("b.bin",
               torch_archive(pickled_state_dict({{"y", "FloatStorage", "0", 6, 0, {6}, {1}}}),
                             {{"0", kSix}}));
  const std::string index = folder.write("pytorch_model.bin.index.json",
                                         R"({"weight_map": {"x": "a.bin", "y": "b.bin"}})");
  EXPECT_EQ(read_tensors(index).size(), 2U);
  folder.write("b.bin", one(0, {6}, {1}));
  EXPECT_THROW(read_tensors(index), Error);  // x twice
}

}  // namespace
}  // namespace dtl::trainer::torch_file_test
