#include "base/library.h"

#include <gmock/gmock.h>
#include <math.h>

#include "base/text.h"

namespace dtl::library_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

void own_function() {}

std::string line_of(const Library& library) {
  for (const std::string_view line : split(library_lines({library}), '\n')) {
    if (line.starts_with("  " + library.name + " ")) return std::string(line);
  }
  return "";
}

TEST(Library, IsInsideWhenItsFunctionIs) {
  EXPECT_THAT(line_of({"own", "1.2.3", address_of(&own_function)}),
              ContainsRegex("^  own +1\\.2\\.3 +inside$"));
}

TEST(Library, IsInsideWhenItHasNoFunction) {
  EXPECT_THAT(line_of({"headers", "7"}), ContainsRegex("^  headers +7 +inside$"));
}

TEST(Library, TellsThePathOfTheSharedLibraryThatIsLoaded) {
  EXPECT_THAT(line_of({"mathematics", "2", address_of(static_cast<double (*)(double)>(&::cbrt))}),
              ContainsRegex("^  mathematics +2 +/.*libm\\.so"));
}

TEST(Library, TellsWhyItIsNotLoaded) {
  EXPECT_THAT(line_of({"far", "-", nullptr, "nobody has asked"}),
              HasSubstr("not loaded: nobody has asked"));
}

TEST(Library, AlwaysNamesWhatEveryProgramHas) {
  const std::string lines = library_lines({});
  for (const char* name : {"  fmt ", "  libstdc++ ", "  glibc "}) {
    EXPECT_THAT(lines, HasSubstr(name));
  }
}

}  // namespace
}  // namespace dtl::library_test
