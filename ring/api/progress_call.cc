// dt_progress. The page belongs to the process, not to a communicator.
#include "base/pages/progress_page.h"
#include "ring/dtring.h"

int dt_progress(uint64_t step, uint64_t total_steps, uint64_t tokens, double loss) {
  return dtl::tell_progress({step, total_steps, tokens, loss}) ? DT_OK : DT_E_SYS;
}
