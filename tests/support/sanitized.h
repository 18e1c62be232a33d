#pragma once
// Whether the code under test is built with a sanitizer. It then runs ten times slower: a test
// whose many values the release build compares needs only one of each kind here, to let the
// sanitizer see every path. Tests' objects are shared between builds, so they ask at run time.

namespace dtl::test {

bool sanitized();

}  // namespace dtl::test
