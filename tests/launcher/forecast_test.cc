#include "launcher/forecast/forecast_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "launcher/forecast/forecast_view.h"
#include "launcher/forecast/step_profile.h"
#include "launcher/options/subcommand_options.h"

namespace dtl::forecast_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A second of computing, the same in each step, and 100 MB of gradients in ten buckets that are
// complete at even intervals in the last 0.5 s.
MeasuredStep even_step() {
  MeasuredStep step;
  step.computing_s = step.whole_s = {1, 1, 1, 1};
  step.passes_s = 0.9;
  step.tokens_per_node = 1000;
  for (int i = 1; i <= 10; ++i) step.buckets.push_back({10e6, 0.05 * (10 - i)});
  return step;
}

LinkFigures links(double gbits, double trip_us = 0.001) {
  return {gbits, gbits, gbits, trip_us};
}

TEST(Forecast, SpeedsUpByTheNumberOfNodesWithoutNetworkCosts) {
  for (const int nodes : {1, 2, 3, 8, 64}) {
    MeasuredStep step = even_step();
    step.buckets.clear();
    const ForecastRow row = forecast(step, links(1e6), nodes);
    EXPECT_NEAR(row.speed_up, nodes, 1e-4 * nodes) << nodes;
    EXPECT_NEAR(row.tokens_per_s, 1000.0 * nodes, 0.2 * nodes);
  }
}

// 80 MB/s in each direction: 2 (n-1)/n of 100 MB take 1.25 s among 2 nodes, and they begin when the
// first bucket is complete, 0.45 s before the end of backward.
TEST(Forecast, WaitsForTheBytesThatASlowLinkCannotHide) {
  const ForecastRow two = forecast(even_step(), links(0.64), 2);
  EXPECT_NEAR(two.network_s, 1.25 - 0.45 + 0.005, 0.001);  // and 0.1 ns for each added byte
  EXPECT_NEAR(two.step_s, 1.805, 0.001);
  EXPECT_NEAR(two.speed_up, 2 / 1.805, 0.002);
  const ForecastRow four = forecast(even_step(), links(0.64), 4);
  EXPECT_NEAR(four.network_s, 1.875 - 0.45 + 0.0075, 0.001);
  EXPECT_LT(two.latency_s, 1e-6);
}

// Each bucket takes 10 ms, less than the 50 ms until the next one: only the last one is waited for.
TEST(Forecast, HidesAllButTheLastBucketBehindBackward) {
  const ForecastRow row = forecast(even_step(), links(8), 2);
  EXPECT_NEAR(row.network_s, 0.0105, 0.0001);
}

TEST(Forecast, CountsRoundTripsOfShortSums) {
  MeasuredStep step = even_step();
  step.buckets = {{4, 0}};
  const ForecastRow two = forecast(step, links(100, 20000), 2);
  EXPECT_NEAR(two.network_s, 0.010, 1e-6);  // doubling: one message
  EXPECT_NEAR(two.latency_s, two.network_s, 1e-6);
  // log2(8) messages of doubling are 30 ms; direct has 2 and 12 times a third.
  EXPECT_NEAR(forecast(step, links(100, 20000), 8).network_s, 0.030, 1e-6);
}

TEST(Forecast, WaitsForTheSlowestNodeOfUnevenSteps) {
  MeasuredStep step = even_step();
  step.buckets.clear();
  step.computing_s = {1, 2};
  // The larger of two draws from {1, 2} is 2 with the probability 3/4.
  const ForecastRow row = forecast(step, links(1e6), 2);
  EXPECT_NEAR(row.slowest_s, 1.75 - 1.5, 1e-9);
  EXPECT_NEAR(row.step_s, 1.75, 1e-6);
  EXPECT_GT(row.high_step_s, row.step_s);
  EXPECT_LT(row.low_step_s, 1.5);
  EXPECT_NEAR(row.high_speed_up, 2, 1e-6);  // if both nodes have their slow steps together
}

TEST(Forecast, HasTheSpreadOfLinksInItsError) {
  const LinkFigures uneven{0.64, 0.32, 1.28, 0.001};
  const ForecastRow row = forecast(even_step(), uneven, 2);
  EXPECT_NEAR(row.low_speed_up, forecast(even_step(), links(0.32), 2).speed_up, 1e-9);
  EXPECT_NEAR(row.high_speed_up, forecast(even_step(), links(1.28), 2).speed_up, 1e-9);
}

TEST(Forecast, HalvesTheBytesWithShortFloats) {
  const MeasuredStep step = with_wire(even_step(), "bf16");
  EXPECT_NEAR(forecast(step, links(0.32), 2).network_s,
              forecast(even_step(), links(0.64), 2).network_s, 0.003);
}

TEST(Forecast, SharesTheWaitAmongMoreMicroBatches) {
  const MeasuredStep step = with_accumulation(even_step(), 2);
  const ForecastRow row = forecast(step, links(0.64), 2);
  EXPECT_NEAR(row.step_s, 1.9 + 0.805, 0.001);
  EXPECT_NEAR(row.tokens_per_s, 4000 / 2.705, 2);
}

TEST(Forecast, DoesNotCountWaitsWithinANodeTwice) {
  MeasuredStep step = even_step();
  step.local_wait_s = 0.3;
  EXPECT_NEAR(forecast(step, links(0.64), 2).network_s, 0.505, 0.001);
}

// 100 MB are sent and 100 MB received by each of two nodes, at 2 ns: 0.2 s of CPU time, and 0.005 s
// to add half of them.
TEST(Forecast, TakesCpuTimeOfSumsFromComputing) {
  MeasuredStep step = even_step();
  for (GradientBucket& bucket : step.buckets) bucket.before_end_s += 0.05;  // all are hidden
  step.cpus = 2;
  LinkFigures fast = links(8);
  fast.cpu_ns = 2;
  EXPECT_NEAR(forecast(step, fast, 2).sums_cpu_s, 0.205 / 2, 1e-6);
  EXPECT_NEAR(forecast(step, fast, 2).step_s, 1.1025, 1e-4);
  step.has_comm_core = true;
  EXPECT_EQ(forecast(step, fast, 2).sums_cpu_s, 0);
}

TEST(Forecast, FindsTheRateThatIsEnough) {
  EXPECT_EQ(enough_gbits(even_step(), links(0.64), 2), 2.5);
  EXPECT_EQ(enough_gbits(even_step(), links(0.64, 500000), 2), 0);  // latency remains
}

// 4 shares: a word in all of them, one in two, one in one.
TEST(ExpectedRows, AreThoseOfSharesDrawnFromTheMeasuredOnes) {
  MeasuredStep step;
  step.word_shares = 4;
  step.words = {{4, 1}, {2, 1}, {1, 1}};
  const RowCounts two = expected_rows(step, 2);
  // Of the 6 pairs of shares, 1 has the second word twice and 4 once; 3 have the third once.
  EXPECT_NEAR(two.shared, 1 + 1.0 / 6, 1e-12);
  EXPECT_NEAR(two.alone, 4.0 / 6 + 3.0 / 6, 1e-12);
  const RowCounts four = expected_rows(step, 4);
  EXPECT_NEAR(four.shared, 2, 1e-12);
  EXPECT_NEAR(four.alone, 1, 1e-12);
  const RowCounts eight = expected_rows(step, 8);
  EXPECT_GT(eight.shared, 2.5);  // more ranks than shares: by probability
  EXPECT_LT(eight.shared + eight.alone, 3.0 + 1e-12);
}

TEST(Forecast, SendsRowsOfWordsAfterBackward) {
  MeasuredStep step = even_step();
  step.buckets.clear();
  step.word_row_bytes = 1e6;
  step.word_shares = 2;
  step.words = {{2, 8}, {1, 16}};  // two ranks: 8 MB are summed, 16 MB gathered
  EXPECT_NEAR(forecast(step, links(0.64), 2).network_s, 0.1 + 0.1, 0.001);
  step.early_optimizer_s = 0.06;  // the gather runs meanwhile
  EXPECT_NEAR(forecast(step, links(0.64), 2).network_s, 0.1 + 0.04, 0.001);
}

TEST(Forecast, CutsGradientsOfDdpIntoItsBuckets) {
  const MeasuredStep step = step_of_ddp(3, 100e6);
  ASSERT_EQ(step.buckets.size(), 4u);
  EXPECT_DOUBLE_EQ(step.buckets[0].bytes, 25e6);
  EXPECT_DOUBLE_EQ(step.buckets[0].before_end_s, 1.5);  // of the 2 s of backward
  EXPECT_DOUBLE_EQ(step.buckets[3].before_end_s, 0);
}

// ---- the file

const char* const kProfile = R"({
 "schema": "dttrain-step-profile/1", "ranks": 2, "ranks_per_node": 1, "threads": 3, "cpus": 2.5, "comm_cpus": 1,
 "gradient_wire": "f32", "gradient_accumulation_steps": 1, "global_batch": 16,
 "word_row_bytes": 1024, "word_shares": 3, "word_rows": [{"uses": 1, "words": 5}],
 "buckets": [{"bytes": 4000, "before_end_s": 0.25}],
 "steps": [{"step_s": 2.0, "forward_s": 0.4, "backward_s": 0.8, "network_s": 0.5,
            "optimizer_s": 0.2, "early_optimizer_s": 0.1, "tokens": 200}]})";

MeasuredStep parse(const std::string& text) {
  int threads = 0;
  return parse_step_profile(text, "out/step_profile.json", &threads);
}

std::string replaced(const std::string& old, const std::string& now) {
  std::string text = kProfile;
  return text.replace(text.find(old), old.size(), now);
}

std::string fault(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(StepProfileFile, GivesTheStepWithoutWaitsForOtherNodes) {
  const MeasuredStep step = parse(kProfile);
  EXPECT_EQ(step.nodes, 2);
  EXPECT_THAT(step.computing_s, testing::ElementsAre(1.5));
  EXPECT_THAT(step.whole_s, testing::ElementsAre(2.0));
  EXPECT_DOUBLE_EQ(step.passes_s, 1.2);
  EXPECT_DOUBLE_EQ(step.tokens_per_node, 100);
  EXPECT_DOUBLE_EQ(step.buckets.at(0).before_end_s, 0.25);
  const MeasuredStep local = parse(replaced("\"ranks_per_node\": 1", "\"ranks_per_node\": 2"));
  EXPECT_EQ(local.nodes, 1);
  EXPECT_THAT(local.computing_s, testing::ElementsAre(2.0));
  EXPECT_DOUBLE_EQ(local.local_wait_s, 0.5);
}

TEST(StepProfileFile, IsRefusedWithThePlaceOfTheFault) {
  EXPECT_THAT(fault("[]"), HasSubstr("out/step_profile.json: not a JSON object"));
  EXPECT_THAT(fault(replaced("profile/1", "profile/2")), HasSubstr("schema"));
  EXPECT_THAT(fault(replaced("\"step_s\": 2.0", "\"step_s\": -2")), HasSubstr("steps[0].step_s"));
  EXPECT_THAT(fault(replaced("\"bytes\": 4000", "\"bytes\": \"x\"")),
              HasSubstr("buckets[0].bytes: not a number"));
  EXPECT_THAT(fault(replaced("\"uses\": 1", "\"uses\": 4")), HasSubstr("word_rows[0].uses"));
  EXPECT_THAT(fault(replaced("\"f32\"", "\"f64\"")), HasSubstr("gradient_wire"));
  EXPECT_THAT(fault(replaced("\"steps\": [", "\"steps\": [], \"old\": [")), HasSubstr("empty"));
  EXPECT_THAT(fault(replaced("\"step_s\": 2.0", "\"step_s\": 0.5")), HasSubstr("took no time"));
}

// ---- what is printed

ForecastQuestion question() {
  ForecastQuestion q;
  q.step = even_step();
  q.folder = "out";
  q.links = {0.64, 0.6, 0.7, 50};
  q.links_from = "measured between 4 hosts";
  q.nodes = {2, 4};
  return q;
}

TEST(ForecastText, FitsInto80Columns) {
  ForecastQuestion q = question();
  q.step.nodes = 2;
  const std::string text = forecast_text(q, answer(q));
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
  }
  EXPECT_THAT(text, HasSubstr("\n    2     1.81 "));
  EXPECT_THAT(text, HasSubstr("limit:    the network: 1.43 of 2.43 s on 4 nodes wait for sums;"));
  EXPECT_THAT(text, HasSubstr("measured: 1.00 s per step on 2 nodes; the model says 1.81 s"));
}

TEST(ForecastText, NamesWhatLimits) {
  ForecastQuestion q = question();
  EXPECT_EQ(answer(q).limit, Limit::kRate);
  q.links = links(100);
  EXPECT_EQ(answer(q).limit, Limit::kComputing);
  q.links = links(100, 500000);
  EXPECT_EQ(answer(q).limit, Limit::kLatency);
  q.links = links(100);
  q.step.computing_s = {1, 2, 1, 3};
  EXPECT_EQ(answer(q).limit, Limit::kSlowest);
}

TEST(ForecastText, SaysThatASingleStepHasNoError) {
  ForecastQuestion q;
  q.step = step_of_ddp(1, 440e6);
  q.links = links(25, 50);
  q.links_from = "given by --link-gbit";
  q.nodes = {2};
  const std::string text = forecast_text(q, answer(q));
  EXPECT_THAT(text, HasSubstr("unknown:  the error"));
  EXPECT_THAT(text, Not(HasSubstr("+-")));
  const auto json = nlohmann::json::parse(forecast_json(q, answer(q)));
  EXPECT_TRUE(json["forecasts"][0]["tokens_per_second"].is_null());
}

// Twice as fast on one node, with the same tokens: the speed-up is against the first run.
TEST(ForecastText, ComparesAnotherRunWithTheFirst) {
  ForecastQuestion q = question();
  q.links = links(1000);
  q.others.push_back({"out2", even_step()});
  q.others[0].step.computing_s = {0.5};
  q.others[0].step.buckets.clear();
  q.others[0].step.ranks_per_node = 2;
  const ForecastAnswer all = answer(q);
  EXPECT_NEAR(all.what_ifs.back().row.speed_up, 8, 0.01);
  EXPECT_EQ(all.what_ifs.back().note, "2 ranks per node");
}

// "nodes number, step_s number, ...": the names and types that dtlaunch-forecast(1) promises.
std::string members(const nlohmann::ordered_json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    text += (text.empty() ? "" : ", ") + name + " " + value.type_name();
  }
  return text;
}

TEST(ForecastJson, KeepsItsMembers) {
  ForecastQuestion q = question();
  q.step.nodes = 2;
  q.links.cpu_ns = 0.5;
  const auto json = nlohmann::ordered_json::parse(forecast_json(q, answer(q)));
  EXPECT_EQ(json["schema"], "dtlaunch-forecast/1");
  EXPECT_EQ(members(json),
            "schema string, from string, steps number, ranks_per_node number, gradient_wire "
            "string, gradient_bytes number, links object, forecasts array, limit string, "
            "limit_text string, what_ifs array, measured_step_s number, unknown array");
  EXPECT_EQ(members(json["links"]),
            "gbits number, low_gbits number, high_gbits number, round_trip_us number, "
            "cpu_ns_per_byte number, from string");
  const std::string row =
      "nodes number, step_s number, low_step_s number, high_step_s number, speed_up number, "
      "low_speed_up number, high_speed_up number, efficiency number, tokens_per_second number, "
      "computing_s number, slowest_s number, sums_cpu_s number, network_s number, latency_s number";
  EXPECT_EQ(members(json["forecasts"][0]), row);
  EXPECT_EQ(members(json["what_ifs"][0]), "change string, note string, " + row);
  EXPECT_EQ(json["forecasts"].size(), 3u);
  EXPECT_EQ(json["forecasts"][1]["nodes"], 2);
  EXPECT_EQ(json["limit"], "link-rate");
}

TEST(ForecastOptions, AreSortedAndChecked) {
  const auto nodes = [](const std::string& text) {
    return parse_subcommand("forecast", {"--nodes", text}).forecast.nodes;
  };
  EXPECT_THAT(nodes("8,2,4,2"), testing::ElementsAre(2, 4, 8));
  for (const char* wrong : {"", "1", "2,", "x", "10001"})
    EXPECT_THROW(nodes(wrong), Error) << wrong;
  EXPECT_EQ(parse_subcommand("forecast", {"--from", "a", "--from", "b"}).forecast.from.size(), 2u);
}

}  // namespace
}  // namespace dtl::forecast_test
