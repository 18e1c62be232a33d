// dtring-perf's test values, and that it notices a wrong element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ring/arithmetic/reduce.h"
#include "ring/perf/perf_collective.h"
#include "ring/perf/perf_explain.h"
#include "ring/perf/perf_options.h"
#include "ring/perf/perf_sequence.h"
#include "ring/perf/perf_text.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring::perf_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kCount = 200;

Bytes values_of(const Reduction& r, int rank) {
  Bytes values(kCount * type_of(r.dtype).bytes);
  for (std::uint64_t x = 0; x < kCount; ++x) {
    put_value(r, rank, x, values.data() + x * type_of(r.dtype).bytes);
  }
  return values;
}

Bytes results_of(const Reduction& r) {
  Bytes results(kCount * type_of(r.dtype).bytes);
  for (std::uint64_t x = 0; x < kCount; ++x) {
    put_result(r, x, results.data() + x * type_of(r.dtype).bytes);
  }
  return results;
}

// Combines two at a time in the order of `ranks`, in wire format.
Bytes combined_by_the_library(const Reduction& r, const std::vector<int>& ranks) {
  const bool is_rounded = r.dtype == DT_F32 && (r.op == DT_SUM || r.op == DT_AVG);
  const auto travel = [&](Bytes& values) {
    if (!is_rounded || r.wire == DT_WIRE_EXACT) return;
    round_to_wire(r.wire == DT_WIRE_F16 ? Wire::kF16 : Wire::kBf16,
                  reinterpret_cast<float*>(values.data()), kCount);
  };
  Bytes sum = values_of(r, ranks.front());
  travel(sum);
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    Bytes more = values_of(r, ranks[i]);
    travel(more);
    const Operand operands[] = {{sum.data()}, {more.data()}};
    combine(r.dtype, r.op, sum.data(), operands, 2, kCount);
    travel(sum);
  }
  if (r.op == DT_AVG) divide(r.dtype, sum.data(), kCount, static_cast<std::uint64_t>(r.world));
  travel(sum);
  return sum;
}

std::string name_of(const Reduction& r) {
  return std::string(type_of(r.dtype).name) + " " + perf_op_name(r.op) + ", " +
         std::to_string(r.world) + " ranks, wire " + wire_name(r.wire);
}

class PerfValues : public testing::TestWithParam<int> {};

TEST_P(PerfValues, GiveTheSameResultInEveryOrderOfRanks) {
  for (int dtype = DT_U8; dtype <= DT_BOOL; ++dtype) {
    for (int op = 0; op < kOps; ++op) {
      for (const int wire : {DT_WIRE_DEFAULT, DT_WIRE_EXACT, DT_WIRE_BF16, DT_WIRE_F16}) {
        const Reduction r{dtype, op, wire, GetParam()};
        if (!is_combinable(dtype, op) || (dtype != DT_F32 && wire != DT_WIRE_DEFAULT)) continue;
        std::vector<int> ranks(static_cast<std::size_t>(r.world));
        for (int i = 0; i < r.world; ++i) ranks[static_cast<std::size_t>(i)] = i;
        const Bytes expected = results_of(r);
        if (r.world > 1 || dtype != DT_BOOL) {  // a single operand is not normalised to 0 or 1
          EXPECT_EQ(combined_by_the_library(r, ranks), expected) << name_of(r);
          std::rotate(ranks.begin(), ranks.begin() + r.world / 2, ranks.end());
          EXPECT_EQ(combined_by_the_library(r, ranks), expected) << name_of(r);
          std::reverse(ranks.begin(), ranks.end());
          EXPECT_EQ(combined_by_the_library(r, ranks), expected) << name_of(r);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, PerfValues, testing::Values(1, 2, 3, 7, 16, 64, 130, 300),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST(PerfValues, DifferByRankAndPlace) {
  const Reduction r{DT_F32, DT_SUM, DT_WIRE_EXACT, 4};
  std::set<Bytes> rows;
  for (int rank = 0; rank < 4; ++rank) rows.insert(values_of(r, rank));
  EXPECT_EQ(rows.size(), 4U);
  const Bytes row = values_of(r, 0);
  std::set<Bytes> elements;
  for (std::size_t i = 0; i < row.size(); i += 4) {
    elements.insert(Bytes(row.begin() + static_cast<std::ptrdiff_t>(i),
                          row.begin() + static_cast<std::ptrdiff_t>(i + 4)));
  }
  EXPECT_GT(elements.size(), kCount * 9 / 10);
}

Sequence some_bits(int dtype) {
  return {type_of(dtype).bytes,
          [=](std::uint64_t x, std::byte* out) { put_bits(dtype, 1, x, out); }};
}

class PerfSequence : public testing::Test {
 protected:
  static constexpr std::uint64_t kLength = 3 * Sequence::kPeriod + 17;
  Sequence sequence_ = some_bits(DT_I32);
  std::vector<std::int32_t> data_ = std::vector<std::int32_t>(kLength);

  std::byte* bytes() { return reinterpret_cast<std::byte*>(data_.data()); }
  std::uint64_t wrong(std::uint64_t first, std::uint64_t count, std::uint64_t turn) {
    return sequence_.count_wrong(bytes(), first, count, turn, &where_);
  }
  std::uint64_t where_ = 0;
};

TEST_F(PerfSequence, FindsTheOneWrongElement) {
  sequence_.write(bytes(), 5, kLength, 9);
  EXPECT_EQ(wrong(5, kLength, 9), 0U);
  data_[2 * Sequence::kPeriod + 3] ^= 1 << 30;
  EXPECT_EQ(wrong(5, kLength, 9), 1U);
  EXPECT_EQ(where_, 2 * Sequence::kPeriod + 3);
}

TEST_F(PerfSequence, TakesNoElementForItsNeighbour) {
  sequence_.write(bytes(), 0, kLength, 1);
  EXPECT_GT(wrong(1, kLength, 1), kLength * 9 / 10);
}

TEST_F(PerfSequence, TakesNoTurnForAnother) {
  sequence_.write(bytes(), 0, kLength, 1);
  EXPECT_GT(wrong(0, kLength, 2), kLength * 9 / 10);
}

TEST_F(PerfSequence, TakesNoPieceForAnother) {
  sequence_.write(bytes(), 0, Sequence::kPeriod, 1);
  EXPECT_GT(wrong(Sequence::kPeriod, Sequence::kPeriod, 1), Sequence::kPeriod * 9 / 10);
}

TEST(PerfCollective, CountsBlocksOfAllRanks) {
  EXPECT_EQ(count_for(Collective::kAllreduce, 4096, 4, 4), 1024U);
  EXPECT_EQ(count_for(Collective::kAllgather, 4096, 4, 4), 256U);
  EXPECT_EQ(count_for(Collective::kAllgather, 4, 4, 4), 1U);
  const Job job{Collective::kAllgather, DT_F32, DT_SUM, DT_WIRE_EXACT, 0, 256};
  EXPECT_EQ(in_count(job, 4), 256U);
  EXPECT_EQ(out_count(job, 4), 1024U);
}

TEST(PerfCollective, ScalesBandwidthByWhatMustMove) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllreduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAlltoall, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kBroadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllreduce, 1), 0);
}

PerfOptions parse(const std::vector<std::string>& words) {
  return parse_perf_options(words);
}

TEST(PerfOptions, ReadsSizesWithUnits) {
  EXPECT_EQ(parse({"-b", "1K", "-e", "8k", "-f", "2"}).sizes(),
            (std::vector<std::uint64_t>{1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse({"-b", "10", "-e", "30", "-i", "10", "reduce"}).sizes(),
            (std::vector<std::uint64_t>{10, 20, 30}));
}

TEST(PerfOptions, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"-b", "0"},
                                             {"-b", "1T"},
                                             {"-b", ""},
                                             {"-n", "0"},
                                             {"-f", "1"},
                                             {"-c", "2"},
                                             {"-d", "f8"},
                                             {"-o", "xor"},
                                             {"-d", "f32", "-o", "bor"},
                                             {"--wire", "f32"},
                                             {"-b", "2K", "-e", "1K"},
                                             {"allreduce", "reduce"},
                                             {"everything"},
                                             {"-x"},
                                             {"-b"}}) {
    EXPECT_THROW(parse(words), Error) << words.front();
  }
}

TEST(PerfText, NamesTheRanksOfEachHost) {
  EXPECT_EQ(ranks_by_host({"a", "a", "b", "a", "b", "b"}),
            (std::vector<std::string>{"0-1,3 on a", "2,4-5 on b"}));
}

TEST(PerfText, TakesJsonApart) {
  const auto members =
      json_members(R"( {"a": [1, {"b": 2}], "c,d": "x\"}:,", "e": {}, "f": -1.5} )");
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0], (std::pair<std::string, std::string>{"a", R"([1, {"b": 2}])"}));
  EXPECT_EQ(members[1].first, "c,d");
  EXPECT_EQ(members[1].second, R"("x\"}:,")");
  EXPECT_EQ(members[2].second, "{}");
  EXPECT_EQ(members[3].second, "-1.5");
  EXPECT_TRUE(json_members("{}").empty());
  EXPECT_TRUE(json_members("").empty());
}

TEST(PerfText, BreaksLinesAtCommas) {
  EXPECT_EQ(wrap("aa,bb,cc", 6), (std::vector<std::string>{"aa,bb,", "cc"}));
  EXPECT_EQ(wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
}

TEST(PerfText, ShowsFourDigits) {
  EXPECT_EQ(four_digits(0.0123), "0.012");
  EXPECT_EQ(four_digits(12.345), "12.35");
  EXPECT_EQ(four_digits(123456), "123456");
}

std::string stats(int world, int nodes, const std::string& allreduce, bool is_measured) {
  return "{\"world\":" + std::to_string(world) + ",\"nodes\":" + std::to_string(nodes) +
         ",\"allreduce\":\"" + allreduce + "\",\"measured\":" + (is_measured ? "true" : "false") +
         ",\"latency_us\":25.0,\"gigabytes_per_second\":1.000}";
}

TEST(Explain, ShowsLinksPredictionsAndChoiceIn80Columns) {
  const std::string text = explain(stats(1024, 128, "leaders:0-16K;halving:16K-max", true));
  EXPECT_NE(text.find("1024 ranks on 128 hosts"), std::string::npos) << text;
  EXPECT_NE(text.find("25.0 us of latency, 1.00 GB/s each way"), std::string::npos) << text;
  EXPECT_NE(text.find("measured when the ranks met"), std::string::npos) << text;
  std::size_t leaders = 0, halving = 0, from = 0;
  for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    const std::string line = text.substr(from, end - from);
    EXPECT_LE(line.size(), 80U) << line;
    leaders += line.ends_with("  leaders");
    halving += line.ends_with("  halving");
  }
  EXPECT_EQ(leaders, 6U) << text;  // 4 B to 4 KiB
  EXPECT_EQ(halving, 8U) << text;  // 16 KiB to 256 MiB
}

TEST(Explain, SaysThatNothingWasMeasured) {
  EXPECT_NE(explain(stats(63, 63, "halving:0-max", false)).find("assumed"), std::string::npos);
  EXPECT_NE(explain(stats(4, 4, "oneshot:0-32K;direct:32K-max", false)).find("fixed choice"),
            std::string::npos);
  EXPECT_NE(explain(stats(4, 4, "oneshot:0-32K;ring:32K-max", true)).find("choose by timing"),
            std::string::npos);
  EXPECT_EQ(explain(stats(1, 1, "direct:0-max", false)), "One rank: there is nothing to choose.\n");
}

TEST(Explain, ShowsWhatTheUserHasSetThoughItIsNotConsidered) {
  const std::string text = explain(stats(2, 2, "halving:0-max", false));
  EXPECT_NE(text.find("DTRING_ALLREDUCE has set the algorithms"), std::string::npos) << text;
  EXPECT_NE(text.find(" bytes  halving  oneshot"), std::string::npos) << text;
}

TEST(Explain, IsNotBesideACollective) {
  EXPECT_TRUE(parse_perf_options({"--explain"}).explain);
  EXPECT_THROW(parse_perf_options({"--explain", "allgather"}), Error);
  EXPECT_THROW(parse_perf_options({"--explain", "--links"}), Error);
}

}  // namespace
}  // namespace dtl::ring::perf_test
