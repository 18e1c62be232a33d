# The compiler of the fuzz preset: the newest clang of this machine that has libFuzzer. Debian's
# packages are clang and libclang-rt-dev. -DCMAKE_CXX_COMPILER=... chooses another.
if(NOT CMAKE_CXX_COMPILER)
  file(GLOB libraries /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a)
  list(SORT libraries COMPARE NATURAL ORDER DESCENDING)
  foreach(library IN LISTS libraries)
    string(REGEX REPLACE "/lib/clang/.*" "/bin/clang++" compiler ${library})
    if(EXISTS ${compiler})
      set(CMAKE_CXX_COMPILER ${compiler})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "there is no clang with libFuzzer. Try: apt-get install clang libclang-rt-dev")
endif()
