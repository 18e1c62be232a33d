// libhwloc.a can load plugins, but dtagent never lets it: a static program that calls dlopen needs
// this exact glibc on the host. The linker replaces dlopen by this (--wrap). hwloc takes the null
// pointer as a plugin that failed to load, and continues without it.

extern "C" void* __wrap_dlopen(const char*, int) {  // NOLINT(bugprone-reserved-identifier)
  return nullptr;
}
