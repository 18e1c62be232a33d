#pragma once
// The part of report.html that every run has: figures, curves and settings from its Results. The
// caller adds times and the machine.

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/page/report_html.h"
#include "trainer/report/results.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// title, results, settings, their defaults and the charts of loss, learning rate, gradient norm,
// metrics and throughput.
ReportPage run_report(const Settings& settings, const Results& results);

// Who ran what, where and when: date in local time, hosts, command and version.
std::vector<std::pair<std::string, std::string>> about_run(const Settings& settings,
                                                           std::vector<std::string> hosts,
                                                           std::time_t began);

// A figure of all_results.json with its unit: "3.12 s", "41.2 examples/s", "0.8407".
std::string figure_text(const std::string& key, double value);

}  // namespace dtl::trainer
