#pragma once
// The part of report.html that every run has: figures, curves and settings from its Results. The
// caller adds times and the machine.

#include <string>

#include "base/page/report_html.h"
#include "trainer/report/results.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// title, results, settings and the charts of loss, learning rate, gradient norm, metrics and
// throughput.
ReportPage run_report(const Settings& settings, const Results& results);

// A figure of all_results.json with its unit: "3.12 s", "41.2 examples/s", "0.8407".
std::string figure_text(const std::string& key, double value);

}  // namespace dtl::trainer
