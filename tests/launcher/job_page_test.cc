#include "launcher/report/job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "launcher/job/job_outcome.h"

namespace dtl::job_page_test {
namespace {

using json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json report() {
  return json::parse(R"({
    "began": "2026-11-30T09:30:00Z",
    "outcome": {"exit_status": 1, "cause": "rank-exit", "by": "rank", "rank": 1, "host": "n2"},
    "versions": {"dtlaunch": "0.3.0", "protocol": 15, "dtagent": {"n1": "0.3.0", "n2": "0.3.0"}},
    "seconds": {"starting": 1.0, "running": 9.0, "stopping": 2.0, "total": 12.0},
    "hosts": [{"host": "n1", "up_s": 0.5, "finished_s": 11.5}, {"host": "n2", "up_s": 0.6}],
    "network": ["eth0 on all hosts"],
    "ranks": [
      {"rank": 0, "host": "n1", "cpus": "0-3", "end": "exited", "pid": 70, "started_s": 1.1,
       "status": 143, "signal": "SIGTERM", "max_rss_kib": 2048, "ended_s": 10.5,
       "ended_by_dtlaunch": true, "consequence": false, "oom_kills": 0, "cpu_s": 30.5,
       "sent_bytes": 1500000, "output_bytes": 17},
      {"rank": 1, "host": "n2", "cpus": "0-3", "end": "exited", "pid": 71, "started_s": 1.1,
       "status": 1, "max_rss_kib": 4096, "ended_s": 10.0, "ended_by_dtlaunch": false,
       "consequence": false, "oom_kills": 2, "cpu_s": 20.25, "output_bytes": 0}],
    "plan": {"job_id": "0123456789abcdef", "world_size": 2, "master_address": "10.0.0.1",
             "master_port": 29500,
             "nodes": [{"host": "n1", "address": "10.0.0.1", "interface": "eth0", "ranks": 1}],
             "programs": [{"command": ["python3", "a b.py"], "working_directory": "/x", "ranks": "0-1"}],
             "warnings": ["few cores"], "environment_of_rank_0": {"RANK": "0"}},
    "messages": ["a message"], "dropped_output_bytes": 0,
    "series": {"point_s": 2, "loss": [null, 0.7, 0.5],
               "cpu_cores": {"0": [1, 2, 3], "1": [null, 1, 2]}}
  })");
}

JobPage page(const json& told) {
  JobPage page;
  page.job_id = "0123456789abcdef";
  page.command = "python3 train.py";
  page.folder = "/home/a";
  page.launcher_host = "login";
  page.hosts = {"n1", "n2"};
  page.tags = {"nightly"};
  page.began_ms = 1'795'512'600'000;
  page.exit_status = 1;
  page.took_s = 12;
  page.card = "rank 1 on n2 exited with status 1\n  | Traceback";
  page.report = told.is_null() ? "" : told.dump();
  return page;
}

TEST(JobPage, SaysHowTheJobEndedInTheFirstLine) {
  const std::string html = job_page(page(report()));
  EXPECT_THAT(html,
              HasSubstr("<h1>python3 train.py</h1>\n<p class=\"verdict bad\">failed after 12.0 "
                        "s: rank 1 on n2 ended with status 1</p>"));
  EXPECT_THAT(html, HasSubstr("<pre>rank 1 on n2 exited with status 1\n  | Traceback</pre>"));
}

TEST(JobPage, HasWordsForEachCause) {
  for (int cause = 0; cause <= static_cast<int>(Cause::kUpEnded); ++cause) {
    const std::string name = cause_name(static_cast<Cause>(cause));
    json told = report();
    told["outcome"]["cause"] = name;
    EXPECT_THAT(job_page(page(told)), Not(HasSubstr(": " + name + "</p>"))) << name;
  }
  json told = report();
  told["outcome"]["cause"] = "of-the-future";
  EXPECT_THAT(job_page(page(told)), HasSubstr("failed after 12.0 s: of-the-future</p>"));
}

TEST(JobPage, SaysThatAJobSucceeded) {
  json told = report();
  told["outcome"] = {{"exit_status", 0}, {"cause", "completed"}, {"by", "dtlaunch"}};
  JobPage good = page(told);
  good.exit_status = 0;
  good.card.clear();
  good.took_s = 192;
  const std::string html = job_page(good);
  EXPECT_THAT(html, HasSubstr("<p class=\"verdict good\">succeeded in 3 min 12 s</p>"));
  EXPECT_THAT(html, Not(HasSubstr("How it failed")));
}

TEST(JobPage, HasTimelineCurvesRanksAndHosts) {
  const std::string html = job_page(page(report()));
  EXPECT_THAT(html, HasSubstr("title=\"running: 9.00 s\""));
  EXPECT_THAT(html, HasSubstr("<li>after 10.0 s: the first failure: rank 1 on n2: status 1</li>"));
  EXPECT_THAT(html, HasSubstr("<h2>CPU <small>cores</small></h2>"));
  EXPECT_THAT(html, HasSubstr("rank 1 (last: 2 cores)"));
  EXPECT_THAT(html, HasSubstr("<h2>Loss <small></small></h2>"));
  EXPECT_THAT(html, HasSubstr("data-name=\"end\">SIGTERM, ended by dtlaunch</td>"));
  EXPECT_THAT(html, HasSubstr("data-name=\"sent\">1.5 MB</td>"));
  EXPECT_THAT(html, HasSubstr("data-name=\"OOM kills\">2</td>"));
  EXPECT_THAT(html, HasSubstr("<li>most CPU time: rank 0 on n1, 30.5 s; least: rank 1 on n2, 20.2 "
                              "s</li>"));
  EXPECT_THAT(html, HasSubstr("data-name=\"interface\">eth0</td>"));
  EXPECT_THAT(html, HasSubstr("<dt>dtagent</dt><dd>0.3.0 on 2 hosts</dd>"));
  EXPECT_THAT(html, AllOf(HasSubstr("few cores"), HasSubstr("a message"), HasSubstr("nightly")));
}

TEST(JobPage, ShowsTheLocalDateWithItsZone) {
  ::setenv("TZ", "XYZ-3", 1);
  ::tzset();
  EXPECT_THAT(job_page(page(report())), HasSubstr("2026-11-24 12:30:00 +0300 (XYZ)"));
  ::unsetenv("TZ");
  ::tzset();
}

TEST(JobPage, ShowsEachEpoch) {
  json told = report();
  told["epochs"] = json::parse(R"([
    {"began_s": 0, "ended_s": 5, "hosts": ["n1", "n2", "n3"], "world_size": 3, "cause": "node-lost",
     "exit_status": 69, "host": "n3", "left_out": ["n3"], "lost_s": 4.5},
    {"began_s": 6, "ended_s": 18, "hosts": ["n1", "n2"], "world_size": 2, "cause": "rank-exit",
     "exit_status": 1, "rank": 1, "host": "n2", "not_started_again": "no restarts are left"}])");
  const std::string html = job_page(page(told));
  EXPECT_THAT(html, HasSubstr("epoch 0: n[1-3], 3 ranks"));
  EXPECT_THAT(html,
              HasSubstr("after 5.00 s: epoch 0 ended: n3 was lost; left out n3; 4.50 s lost"));
  EXPECT_THAT(html, HasSubstr("not started again: no restarts are left"));
  // The phases are those of the last epoch, which began after 6 of 18 s.
  EXPECT_THAT(html, HasSubstr("left:33.333%;width:5.556%;"));
  EXPECT_THAT(html, HasSubstr("data-name=\"began\">7.10 s</td>"));
}

TEST(JobPage, OfManyRanksShowsRangesAndThoseThatFailed) {
  json told = report();
  const json rank = told["ranks"][0];
  told["ranks"] = json::array();
  for (int i = 0; i < 1000; ++i) {
    told["ranks"].push_back(rank);
    told["ranks"].back()["rank"] = i;
  }
  told["ranks"][999]["ended_by_dtlaunch"] = false;
  told["series"]["cpu_cores"] = {{"lowest", {1, 1}}, {"median", {2, 2}}, {"highest", {3, 4}}};
  std::string html = job_page(page(told));
  EXPECT_THAT(html, HasSubstr("highest (last: 4 cores)"));
  EXPECT_THAT(html, HasSubstr("256 of 1000 ranks"));
  EXPECT_THAT(html, HasSubstr("data-name=\"rank\">999</td>"));
  EXPECT_THAT(html, Not(HasSubstr("data-name=\"rank\">998</td>")));
  // Up to 64 are kept one by one, but so many curves would hide each other.
  told["series"]["cpu_cores"] = json::object();
  for (int i = 0; i < 9; ++i) told["series"]["cpu_cores"][std::to_string(i)] = {i, i, nullptr};
  html = job_page(page(told));
  EXPECT_THAT(html, HasSubstr("highest rank (last: 8 cores)"));
  EXPECT_THAT(html, HasSubstr("median (last: 4 cores)"));
  EXPECT_THAT(html, HasSubstr("<th>cores over time</th>"));
}

TEST(JobPage, SaysIfAReportHasNoCurves) {
  json told = report();
  told.erase("series");
  for (json& rank : told["ranks"]) {
    rank.erase("cpu_s");
    rank.erase("output_bytes");
  }
  const std::string html = job_page(page(told));
  EXPECT_THAT(html, HasSubstr("Curves of CPU and memory are missing"));
  EXPECT_THAT(html, Not(HasSubstr("CPU time")));
  EXPECT_THAT(html, HasSubstr("peak memory"));
}

TEST(JobPage, OfALostJobShowsWhatIsKnown) {
  JobPage lost = page(nullptr);
  lost.status = "lost";
  lost.took_s.reset();
  lost.card.clear();
  const std::string html = job_page(lost);
  EXPECT_THAT(html, HasSubstr("<p class=\"verdict bad\">lost: its launcher was killed"));
  EXPECT_THAT(html, HasSubstr("The history has no report of this job"));
  EXPECT_THAT(html, AllOf(HasSubstr("n[1-2]"), HasSubstr("/home/a"), HasSubstr("login")));
  EXPECT_THAT(html, Not(HasSubstr("exit status")));
}

TEST(JobPage, EscapesEveryText) {
  const std::string evil = "<script>alert(1)</script>\"'&\x1b[2J\xff";
  json told = report();
  // Each text of the report, whatever it is, and the name of each rank's curve.
  const json flat = told.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (value.is_string()) told[json::json_pointer(path)] = "<script>" + path;
  }
  told["plan"]["environment_of_rank_0"]["<script>"] = "<script>";
  told["versions"]["dtagent"]["<script>"] = "<script>";
  told["seconds"]["<script>"] = 1;
  told["series"]["cpu_cores"]["<script>"] = {1, 2};
  told["series"]["<script>"] = {1, 2};
  JobPage hostile = page(told);
  for (std::string* text : {&hostile.job_id, &hostile.command, &hostile.folder,
                            &hostile.launcher_host, &hostile.card, &hostile.status}) {
    *text = evil;
  }
  hostile.hosts = hostile.tags = {evil};
  std::string html = job_page(hostile);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b"))));
  hostile.status = "ended";
  html = job_page(hostile);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b"))));
}

TEST(JobPage, TakesAnyJsonForAReport) {
  const json good = report(), flat = good.flatten();
  const std::vector<json> values = {nullptr,
                                    1,
                                    -1e300,
                                    "x",
                                    true,
                                    json::array(),
                                    json::object(),
                                    json::array({json::object(), nullptr, 7}),
                                    {{"a", {{"b", 1}}}}};
  for (const auto& [path, unused] : flat.items()) {
    for (const json& value : values) {
      json bad = good;
      bad[json::json_pointer(path)] = value;
      EXPECT_THAT(job_page(page(bad)), Not(HasSubstr("nan%"))) << path;
    }
  }
  for (const auto& [name, unused] : good.items()) {
    for (const json& value : values) {
      json bad = good;
      bad[name] = value;
      EXPECT_THAT(job_page(page(bad)), HasSubstr("</html>")) << name;
    }
  }
  JobPage broken = page(good);
  broken.report = "{\"outcome\": ";
  EXPECT_THAT(job_page(broken), HasSubstr("has no report"));
}

}  // namespace
}  // namespace dtl::job_page_test
