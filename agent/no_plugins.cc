// libhwloc.a can load plugins, which dtagent never lets it do: a static program that called dlopen
// would need this very glibc on the host. The linker puts this in the place of dlopen (--wrap).
// hwloc takes the null pointer for a plugin that cannot be loaded, and goes on without it.

extern "C" void* __wrap_dlopen(const char*, int) {  // NOLINT(bugprone-reserved-identifier)
  return nullptr;
}
