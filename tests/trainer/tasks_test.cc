#include "trainer/data/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::tasks_test {
namespace {

using testing::HasSubstr;

TextDataset read(const std::string& task, Split split, const std::string& bytes,
                 std::int64_t limit = -1) {
  const TemporaryFolder folder;
  const GlueFile file = glue_files(glue_task(task), folder.path(), split)[0];
  folder.write(file.path.substr(folder.path().size() + 1), bytes);
  return read_glue(glue_task(task), file, split, limit);
}

std::string read_error(const std::string& task, Split split, const std::string& bytes) {
  try {
    read(task, split, bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    const std::string text = error.what();
    return text.substr(text.find(".tsv") + 4);
  }
  ADD_FAILURE() << "accepted";
  return "";
}

struct Sample {
  const char* task;
  const char* train;
  const char* first;
  const char* second;
  const char* label;
};

void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.task;
}

// A row of each task's training file in the columns of the GLUE archive.
class GlueColumns : public testing::TestWithParam<Sample> {};

TEST_P(GlueColumns, AreReadAsTheTaskNamesThem) {
  const Sample& sample = GetParam();
  const TextDataset dataset = read(sample.task, Split::kTrain, sample.train);
  ASSERT_EQ(dataset.examples.size(), 1u);
  EXPECT_EQ(dataset.examples[0].first, sample.first);
  EXPECT_EQ(dataset.examples[0].second, sample.second);
  EXPECT_EQ(dataset.examples[0].label, sample.label);
  EXPECT_EQ(dataset.pairs, *sample.second != '\0');
}

INSTANTIATE_TEST_SUITE_P(
    All, GlueColumns,
    testing::Values(
        Sample{"cola", "gj04\t1\t*\tThe dog \"barks.\n", "The dog \"barks.", "", "acceptable"},
        Sample{"sst2", "sentence\tlabel\nso dull \t0\n", "so dull ", "", "negative"},
        Sample{"mrpc",
               "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\ta\tb\r\n", "a",
               "b", "equivalent"},
        Sample{"qqp", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\ta?\tb?\t0\n",
               "a?", "b?", "not_duplicate"},
        Sample{"stsb",
               "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\t"
               "score\n0\tg\tf\ty\t1\tn\tn\ta\tb\t3.25\n",
               "a", "b", "3.25"},
        Sample{"mnli",
               "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
               "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
               "0\t1\t2\tg\t(\t(\t(\t(\ta\tb\tneutral\tcontradiction\n",
               "a", "b", "contradiction"},
        Sample{"qnli", "index\tquestion\tsentence\tlabel\n0\ta?\tb\tnot_entailment\n", "a?", "b",
               "not_entailment"},
        Sample{"rte", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n", "a", "b",
               "entailment"},
        Sample{"wnli", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n", "a", "b", "entailment"}),
    [](const auto& sample) { return std::string(sample.param.task); });

// A file of each task with the columns of Hugging Face's data set.
std::string read_hub(const std::string& task, const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  const TextDataset dataset =
      read_glue(glue_task(task), {folder.write(name, bytes), ""}, Split::kTrain, -1);
  const TextExample& example = dataset.examples.back();
  return example.first + "|" + example.second + "|" + example.label + "|" + dataset.columns.label;
}

TEST(GlueTask, TakesTheColumnsOfTheHub) {
  EXPECT_EQ(read_hub("mrpc", "t.csv", "sentence1,sentence2,label,idx\na,b,1,7\n"),
            "a|b|equivalent|label");
  EXPECT_EQ(read_hub("mnli", "t.json", R"({"premise": "a", "hypothesis": "b", "label": 2})"),
            "a|b|contradiction|label");
  EXPECT_EQ(read_hub("qqp", "t.csv", "question1,question2,label\na,b,0\n"),
            "a|b|not_duplicate|label");
  EXPECT_EQ(read_hub("stsb", "t.csv", "sentence1,sentence2,label\na,b,2.5\n"), "a|b|2.5|label");
  EXPECT_EQ(read_hub("cola", "t.csv", "sentence,label,idx\na,1,0\n"), "a||acceptable|label");
  EXPECT_EQ(read_hub("cola", "t.jsonl", R"({"sentence": "a", "label": 0})"),
            "a||unacceptable|label");
}

TEST(GlueTask, SaysWhichColumnItMissesOfTheSetThatFitsBetter) {
  EXPECT_THAT(
      read_error("mnli", Split::kTrain, "premise\thypothesis\tgold\na\tb\t1\n"),
      testing::AllOf(HasSubstr("none is called 'label'"),
                     HasSubstr("the task's are premise, hypothesis, label. Try: head -n 1 ")));
}

TEST(GlueTask, ReadsScoresAsTargets) {
  const TextDataset dataset =
      read("stsb", Split::kValidation, "sentence1\tsentence2\tscore\na\tb\t0.5\n");
  EXPECT_EQ(dataset.problem, Problem::kRegression);
  EXPECT_EQ(dataset.examples[0].target, 0.5F);
}

TEST(GlueTask, ReadsTestFilesWithoutLabels) {
  const TextDataset dataset = read("cola", Split::kTest, "index\tsentence\n0\ta b\n");
  EXPECT_FALSE(dataset.labelled);
  EXPECT_EQ(dataset.examples[0].first, "a b");
}

TEST(GlueTask, HasTwoValidationFilesForMnli) {
  const auto files = glue_files(glue_task("MNLI"), "d", Split::kValidation);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "d/dev_matched.tsv");
  EXPECT_EQ(files[1].path, "d/dev_mismatched.tsv");
  EXPECT_EQ(files[1].suffix, "-mm");
}

TEST(GlueTask, DropsRowsOfQqpThatEndEarlyAndCountsThem) {
  const TextDataset dataset =
      read("qqp", Split::kTrain,
           "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\ta\n2\t3\t4\ta\tb\t1\n");
  EXPECT_EQ(dataset.examples.size(), 1u);
  EXPECT_EQ(dataset.dropped, 1);
}

TEST(GlueTask, StopsAtTheLimit) {
  EXPECT_EQ(read("sst2", Split::kTrain, "sentence\tlabel\na\t1\nb\t0\nbad\n", 2).examples.size(),
            2u);
}

TEST(GlueTask, NamesFileAndLineOfWhatIsWrong) {
  const std::string header = "sentence\tlabel\n";
  EXPECT_THAT(read_error("sst2", Split::kTrain, header + "a\t1\nb\t2\n"),
              testing::AllOf(testing::StartsWith(":3:"), HasSubstr("negative, positive")));
  EXPECT_THAT(read_error("sst2", Split::kTrain, header + "a\t1\tc\n"), testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("sst2", Split::kTrain, header + "a\xFF\t1\n"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("byte 2 of the line")));
  EXPECT_THAT(read_error("sst2", Split::kTrain, header + std::string("a\0\t1\n", 5)),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("NUL")));
  EXPECT_THAT(read_error("sst2", Split::kTrain, "text\tlabel\na\t1\n"),
              HasSubstr("none is called 'sentence'"));
  EXPECT_THAT(read_error("cola", Split::kTrain, "x\t1\t\ta\nx\t1\ta\n"),
              testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("stsb", Split::kTrain, "sentence1\tsentence2\tscore\na\tb\tnan\n"),
              HasSubstr("'nan' is not a number"));
  EXPECT_THAT(read_error("rte", Split::kTrain, ""), HasSubstr("empty"));
  EXPECT_THAT(read_error("sst2", Split::kTrain, header), HasSubstr("no rows"));
}

std::string missing_error(const std::string& task, const std::string& folder, Split split) {
  try {
    find_glue_files(glue_task(task), folder, split);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(GlueFolder, SaysWhichFilesAreExpectedWhereOneIsMissing) {
  const TemporaryFolder folder;
  const std::string& path = folder.path();
  EXPECT_THAT(missing_error("rte", "/nowhere/RTE", Split::kTrain),
              testing::AllOf(HasSubstr("--data_dir /nowhere/RTE: cannot read rte: there is no such "
                                       "folder. Try: "),
                             HasSubstr("train.tsv, dev.tsv, test.tsv"), HasSubstr("--train_file")));
  folder.write("dev_matched.tsv", "");
  EXPECT_THAT(missing_error("mnli", path, Split::kValidation),
              testing::AllOf(HasSubstr("there is no file " + path + "/dev_mismatched.tsv"),
                             HasSubstr("train.tsv, dev_matched.tsv, dev_mismatched.tsv, "),
                             HasSubstr("--validation_file")));
  folder.write("test.tsv", "");
  EXPECT_EQ(find_glue_files(glue_task("rte"), path, Split::kTest)[0].path, path + "/test.tsv");
}

const std::string kMrpcHeader = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String";

TEST(GlueFolder, MayHaveTheFilesOfMrpcAsTheyWerePublished) {
  const TemporaryFolder folder;
  const GlueTask& mrpc = glue_task("mrpc");
  const auto found = [&](Split split) { return find_glue_files(mrpc, folder.path(), split)[0]; };
  folder.write("msr_paraphrase_train.txt",
               "\xEF\xBB\xBF" + kMrpcHeader + "\r\n1\t7\t8\tHe said \"a.\tb\r\n");
  folder.write("msr_paraphrase_test.txt", kMrpcHeader + "\r0\t1\t2\tc\td\r1\t3\t4\te\tf\r");
  const TextDataset train = read_glue(mrpc, found(Split::kTrain), Split::kTrain, -1);
  ASSERT_EQ(train.examples.size(), 1u);
  EXPECT_EQ(train.examples[0].first, "He said \"a.");
  EXPECT_EQ(train.examples[0].second, "b");
  EXPECT_EQ(train.examples[0].label, "equivalent");
  const TextDataset validation = read_glue(mrpc, found(Split::kValidation), Split::kValidation, -1);
  ASSERT_EQ(validation.examples.size(), 2u);
  EXPECT_EQ(validation.examples[0].label, "not_equivalent");
  EXPECT_EQ(validation.examples[1].second, "f");
  EXPECT_EQ(validation.examples[1].line, 3);
  EXPECT_FALSE(read_glue(mrpc, found(Split::kTest), Split::kTest, -1).labelled);
}

// Half of each would evaluate on texts that were trained on.
TEST(GlueFolder, ReadsGluesFilesOfMrpcWhereThereAreAny) {
  const TemporaryFolder folder;
  for (const char* name : {"msr_paraphrase_train.txt", "msr_paraphrase_test.txt", "dev.tsv"}) {
    folder.write(name, "");
  }
  const GlueTask& mrpc = glue_task("mrpc");
  EXPECT_EQ(find_glue_files(mrpc, folder.path(), Split::kValidation)[0].path,
            folder.file("dev.tsv"));
  EXPECT_EQ(find_glue_files(mrpc, folder.path(), Split::kTest)[0].path,
            folder.file("msr_paraphrase_test.txt"));
  EXPECT_THAT(missing_error("mrpc", folder.path(), Split::kTrain),
              testing::AllOf(HasSubstr("no file " + folder.file("train.tsv")),
                             HasSubstr("test.tsv, or msr_paraphrase_train.txt")));
  folder.write("test.tsv", "");
  EXPECT_EQ(find_glue_files(mrpc, folder.path(), Split::kTest)[0].path, folder.file("test.tsv"));
}

TEST(GlueFolder, IsLookedForBelowTheOneThatIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("SST-2"));
  EXPECT_THAT(missing_error("sst2", folder.path(), Split::kTrain),
              testing::EndsWith("Try: --data_dir " + folder.file("SST-2")));
}

TEST(GlueTask, SuggestsANameThatIsNear) {
  try {
    glue_task("mrpcs");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    EXPECT_THAT(error.hint(), HasSubstr("mrpc"));
  }
}

}  // namespace
}  // namespace dtl::trainer::tasks_test
