// The libcrypto.a of Debian trixie can compress with zstd, which no code here uses. These stubs
// return "failed", so programs that link it need no zstd archive. Nothing calls them: the linker
// only needs the names, so the signatures do not matter.

#include <cstddef>

extern "C" {

constexpr std::size_t kFailed = static_cast<std::size_t>(-1);  // ZSTD_error_GENERIC

std::size_t ZSTD_CStreamInSize() {
  return kFailed;
}
std::size_t ZSTD_DStreamInSize() {
  return kFailed;
}
std::size_t ZSTD_compress() {
  return kFailed;
}
std::size_t ZSTD_compressStream2() {
  return kFailed;
}
void* ZSTD_createCStream_advanced() {
  return nullptr;
}
void* ZSTD_createDStream_advanced() {
  return nullptr;
}
std::size_t ZSTD_decompress() {
  return kFailed;
}
std::size_t ZSTD_decompressStream() {
  return kFailed;
}
std::size_t ZSTD_endStream() {
  return kFailed;
}
std::size_t ZSTD_flushStream() {
  return kFailed;
}
std::size_t ZSTD_freeCStream() {
  return kFailed;
}
std::size_t ZSTD_freeDStream() {
  return kFailed;
}
const char* ZSTD_getErrorName() {
  return "there is no zstd here";
}
std::size_t ZSTD_initCStream() {
  return kFailed;
}
std::size_t ZSTD_initDStream() {
  return kFailed;
}
unsigned ZSTD_isError() {
  return 1;
}
}
