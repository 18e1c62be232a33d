// init_here ARGUMENT...: `dttrain init ARGUMENT...` and nothing else. init_here demo COUNT: prints
// the demonstration texts as TSV.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "trainer/data/demo_text.h"
#include "trainer/init/init_model.h"

int main(int argc, char** argv) {
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments[0] == "demo") {
      std::puts("label\tsentence");
      for (const auto& example :
           dtl::trainer::make_demo_text(1, std::stoi(arguments.at(1))).examples) {
        std::printf("%s\t%s\n", example.label.c_str(), example.first.c_str());
      }
      return 0;
    }
    return dtl::trainer::run_init(arguments);
  } catch (const dtl::Error& error) {
    std::fprintf(stderr, "init_here: %s\n", error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "init_here: %s\n", error.what());
    return 70;
  }
}
