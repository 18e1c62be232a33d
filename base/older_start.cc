// The start of a program on hosts with an older glibc: __libc_start_main() of 2.34 runs the
// constructors of the program itself, that of before expects a function which does. crt1.o of 2.34
// passes none. Only for programs, not for libraries or static programs.

#if defined(__x86_64__)
#define DTL_FIRST_GLIBC "2.2.5"
#elif defined(__aarch64__)
#define DTL_FIRST_GLIBC "2.17"
#endif

#ifdef DTL_FIRST_GLIBC

using Constructor = void(int, char**, char**);

extern "C" {
__attribute__((visibility("hidden"))) void _init();                              // of crti.o
extern __attribute__((visibility("hidden"))) Constructor* __init_array_start[];  // of the linker
extern __attribute__((visibility("hidden"))) Constructor* __init_array_end[];
int older_libc_start_main(int (*main)(int, char**, char**), int count, char** arguments,
                          Constructor* construct, void (*destroy)(), void (*end_of_loader)(),
                          void* stack_end);
}
__asm__(".symver older_libc_start_main, __libc_start_main@GLIBC_" DTL_FIRST_GLIBC);

namespace {

void construct_program(int count, char** arguments, char** environment) {
  ::_init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(count, arguments, environment);
  }
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) int __libc_start_main(
    int (*main)(int, char**, char**), int count, char** arguments, Constructor*, void (*destroy)(),
    void (*end_of_loader)(), void* stack_end) {
  return older_libc_start_main(main, count, arguments, construct_program, destroy, end_of_loader,
                               stack_end);
}

#endif
