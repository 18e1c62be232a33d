#include "launcher/report/job_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "launcher/report/series_json.h"

namespace dtl::job_series_test {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::IsEmpty;

constexpr std::size_t kAll = 1'000'000;

RankSample used(std::uint32_t rank, std::uint64_t cpu_ms, std::uint64_t memory_kib = 1024) {
  RankSample sample;
  sample.rank = rank;
  sample.cpu_ms = cpu_ms;
  sample.memory_kib = memory_kib;
  return sample;
}

const SeriesMetric* find(const std::vector<SeriesMetric>& metrics, const std::string& name) {
  for (const SeriesMetric& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::vector<double> known(const SeriesTable& table, const std::string& name, std::size_t curve) {
  std::vector<double> values;
  const SeriesMetric* metric = find(table.ranks, name);
  if (metric == nullptr) metric = find(table.job, name);
  if (metric == nullptr) return values;
  for (const double value : metric->curves.at(curve).values) {
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

TEST(JobSeries, ARateIsWhatWasUsedSinceTheLastReport) {
  JobSeries series;
  series.begin(2, 0.5);
  series.sample(used(0, 1000), 1.5);
  series.sample(used(0, 7000, 2048), 4.5);
  series.sample(used(1, 3000), 4.5);
  const SeriesTable table = series.table(kAll);
  EXPECT_EQ(table.point_s, 1);
  EXPECT_THAT(known(table, "cpu_cores", 0), testing::ElementsAre(1, 2));
  EXPECT_THAT(known(table, "cpu_cores", 1), testing::ElementsAre(0.75));
  EXPECT_THAT(known(table, "memory_mib", 0), testing::ElementsAre(1, 2));
  EXPECT_TRUE(std::isnan(find(table.ranks, "cpu_cores")->curves[0].values[3]));
  EXPECT_EQ(series.totals()[0].cpu_ms, 7000U);
}

TEST(JobSeries, CountsOutputAndNetwork) {
  JobSeries series;
  series.begin(1, 0);
  series.output(0, 3000, 0.1);
  series.output(0, 1000, 0.2);
  series.output(0, 500, 2.1);
  RankSample sample = used(0, 10);
  sample.sent_bytes = 8'000'000;
  sample.collective_bytes = 2'000'000;
  series.sample(sample, 2);
  series.sample(sample, 4);
  const SeriesTable table = series.table(kAll);
  EXPECT_THAT(known(table, "output_kb_per_second", 0), testing::ElementsAre(4, 0, 0.5, 0, 0));
  EXPECT_THAT(known(table, "sent_mb_per_second", 0), testing::ElementsAre(4, 4));
  EXPECT_THAT(known(table, "collectives_mb_per_second", 0), testing::ElementsAre(1, 0));
  EXPECT_EQ(series.totals()[0].output_bytes, 4500U);
  EXPECT_EQ(series.totals()[0].sent_bytes, 16'000'000U);
}

TEST(JobSeries, AMillionReportsKeepTheBoundAndTheSum) {
  JobSeries series;
  series.begin(1, 0);
  for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
    series.sample(used(0, i * 6000), static_cast<double>(i) * 3);
    series.output(0, 3000, static_cast<double>(i) * 3);
  }
  const SeriesTable table = series.table(kAll);
  const std::vector<double> cores = known(table, "cpu_cores", 0);
  EXPECT_LE(cores.size(), JobSeries::kMostPoints + 1);
  EXPECT_GE(cores.size(), JobSeries::kMostPoints / 2);
  EXPECT_THAT(cores, testing::Each(DoubleNear(2, 1e-9)));
  double bytes = 0;
  for (const double rate : known(table, "output_kb_per_second", 0)) {
    bytes += rate * 1000 * table.point_s;
  }
  EXPECT_NEAR(bytes, 3e9, 1);
}

TEST(JobSeries, OfManyRanksKeepsTheLowestMedianAndHighest) {
  constexpr std::uint32_t kRanks = 10'000;
  JobSeries series;
  series.begin(kRanks, 0);
  for (std::uint64_t time = 3; time <= 3000; time += 3) {
    for (std::uint32_t rank = 0; rank < kRanks; rank += 7) {
      series.sample(used(rank, time * rank), static_cast<double>(time));
    }
  }
  const SeriesTable table = series.table(kAll);
  ASSERT_EQ(find(table.ranks, "cpu_cores")->curves.size(), 3U);
  EXPECT_EQ(find(table.ranks, "cpu_cores")->curves[2].name, "highest");
  EXPECT_THAT(known(table, "cpu_cores", 0), testing::Each(DoubleEq(0)));
  EXPECT_THAT(known(table, "cpu_cores", 1), testing::Each(DoubleNear(5, 0.01)));
  EXPECT_THAT(known(table, "cpu_cores", 2), testing::Each(DoubleNear(9.996, 0.001)));
  EXPECT_EQ(series.totals().size(), kRanks);
}

TEST(JobSeries, AJobThatGrowsToManyRanksKeepsItsPast) {
  JobSeries series;
  series.begin(2, 0);
  for (int i = 1; i <= 20; ++i) {
    series.sample(used(0, static_cast<std::uint64_t>(i) * 1000), i);
    series.sample(used(1, static_cast<std::uint64_t>(i) * 3000), i);
  }
  series.begin(100, 30);
  for (std::uint32_t rank = 0; rank < 100; ++rank) series.sample(used(rank, 2000), 32);
  series.begin(2, 40);
  series.sample(used(1, 2000), 42);
  const SeriesTable table = series.table(kAll);
  EXPECT_EQ(known(table, "cpu_cores", 0).front(), 1);
  EXPECT_EQ(known(table, "cpu_cores", 2).front(), 3);
  EXPECT_EQ(known(table, "cpu_cores", 1).back(), 1);
}

TEST(JobSeries, AfterARestartCountersBeginAnewAndTimeGoesOn) {
  JobSeries series;
  series.begin(1, 0);
  series.sample(used(0, 50'000), 10);
  series.begin(1, 20);
  series.sample(used(0, 10'000), 30);
  const SeriesTable table = series.table(kAll);
  EXPECT_THAT(known(table, "cpu_cores", 0), testing::ElementsAre(5, 1));
  EXPECT_EQ(series.totals()[0].cpu_ms, 10'000U);
}

TEST(JobSeries, HostileCountersBreakNothing) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  JobSeries series;
  series.sample(used(0, 1), 1);  // of no epoch
  series.output(7, 1, 1);
  series.begin(2, 1);
  series.sample(used(5, 1), 2);  // of no rank
  series.sample(used(0, 5000), 2);
  series.sample(used(0, 1000), 4);  // backwards: unknown
  series.sample(used(0, 2000), 5);
  RankSample hostile = used(1, kHuge, kHuge);
  hostile.sent_bytes = hostile.collective_bytes = hostile.step = hostile.tokens = kHuge;
  hostile.loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) series.sample(hostile, 5);
  const SeriesTable table = series.table(kAll);
  EXPECT_THAT(known(table, "cpu_cores", 0), testing::ElementsAre(5, 1));
  EXPECT_THAT(known(table, "loss", 0), IsEmpty());
  EXPECT_TRUE(nlohmann::json::accept(series_json(series)));
}

TEST(JobSeries, ProgressIsThatOfTheLowestRankThatTells) {
  JobSeries series;
  series.begin(3, 0);
  for (int i = 1; i <= 4; ++i) {
    for (const std::uint32_t rank : {2U, 1U}) {
      RankSample sample = used(rank, 1);
      sample.step = static_cast<std::uint64_t>(i) * 10;
      sample.tokens = sample.step * (rank == 1 ? 100 : 7);
      sample.loss = 1.0 / i;
      series.sample(sample, i * 3);
    }
  }
  const SeriesTable table = series.table(kAll);
  EXPECT_THAT(known(table, "step", 0), testing::ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(known(table, "loss", 0).back(), DoubleEq(0.25));
  EXPECT_THAT(known(table, "tokens_per_second", 0), testing::Each(DoubleNear(1000 / 3.0, 1e-9)));
}

TEST(JobSeries, AShortJobHasNoCurves) {
  JobSeries series;
  EXPECT_EQ(series_json(series), "");
  series.begin(1, 0);
  series.sample(used(0, 10), 1.2);
  EXPECT_EQ(series_json(series), "");
}

TEST(JobSeries, ItsJsonIsSmallForAnyJob) {
  JobSeries series;
  series.begin(kMostSeriesRanks, 0);
  double value = 1;
  for (int time = 3; time < 30'000; time += 3) {
    for (std::uint32_t rank = 0; rank < kMostSeriesRanks; ++rank) {
      value = std::fmod(value * 1.37 + rank, 3e6);
      RankSample sample = used(rank, static_cast<std::uint64_t>(value * time), 1'234'567);
      sample.sent_bytes = sample.collective_bytes = static_cast<std::uint64_t>(value * 1e9);
      series.sample(sample, time);
      series.output(rank, static_cast<std::uint64_t>(value), time);
    }
  }
  const std::string text = series_json(series);
  EXPECT_LE(text.size(), 64U << 10);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["memory_mib"].size(), kMostSeriesRanks);
  EXPECT_GE(json["memory_mib"]["63"].size(), 15U);
}

}  // namespace
}  // namespace dtl::job_series_test
