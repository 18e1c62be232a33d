#pragma once
// One run of dttrain from settings to files: prepare on rank 0, share, train, evaluate, write.

#include "trainer/group.h"
#include "trainer/settings.h"

namespace dtl::trainer {

// Throws Error; the caller ends the group with it.
void run_job(Settings settings, Group& group);

}  // namespace dtl::trainer
