#include "launcher/report/series_watch.h"

#include <utility>

namespace dtl {

RankSample sample_of(const RankReport& report) {
  RankSample sample;
  sample.rank = report.rank;
  sample.cpu_ms = report.usage.cpu_ms;
  sample.memory_kib = report.usage.memory_kib;
  for (const WireState& wire : report.wires) sample.sent_bytes += wire.bytes;
  for (const CommState& comm : report.comms) sample.collective_bytes += comm.bytes;
  sample.step = report.progress.step;
  sample.tokens = report.progress.tokens;
  sample.loss = report.progress.loss;
  return sample;
}

SessionHooks SeriesWatch::watching(SessionHooks hooks) {
  hooks.placed = [this, told = std::move(hooks.placed)](std::size_t ranks) {
    ranks_ = ranks;
    if (told) told(ranks);
  };
  hooks.state = [this, told = std::move(hooks.state)](JobState state) {
    if (state == JobState::kRunning) series_.begin(ranks_, now());
    if (told) told(state);
  };
  hooks.output = [this, told = std::move(hooks.output)](const Output& output) {
    series_.output(output.rank, output.bytes.size(), now());
    if (told) told(output);
  };
  hooks.seen = [this, told = std::move(hooks.seen)](const RankReport& report) {
    series_.sample(sample_of(report), now());
    if (told) told(report);
  };
  return hooks;
}

}  // namespace dtl
