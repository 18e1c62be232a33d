#pragma once
// What report.html says of every run: figures, curves and settings out of its Results. Times and
// the machine are the caller's to add.

#include <string>

#include "trainer/report/report_html.h"
#include "trainer/report/results.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// title, results, settings and the charts of loss, learning rate, gradient norm, metrics and
// throughput.
Report run_report(const Settings& settings, const Results& results);

// "3.12 s", "41.2 examples/s", "0.8407": a figure of all_results.json with its unit.
std::string figure_text(const std::string& key, double value);

}  // namespace dtl::trainer
