// Stands in for an MPI library, or for a program linked with one: only their names matter.
#ifdef DTL_EXPORTS
extern "C" int DTL_EXPORTS() {
  return 0;
}
#else
int main() {
  return 0;
}
#endif
