// The least cost of a start with authenticated nodes, for slurm.sh: an srun whose tasks connect
// back over TLS 1.3 with a pre-shared key, run a command once all are connected, and send its exit
// status. Not a launcher: no agent, guard, topology, binding, output or supervision.
// usage: tls_starter NODES COMMAND...
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::array<unsigned char, 32> kKey = {7};  // not a secret: a benchmark's key
constexpr std::array<unsigned char, 2> kCipher = {0x13, 0x01};
constexpr const char* kName = "tls_starter";

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(71);
}

SSL_SESSION* session_of(SSL* ssl) {
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipher.data());
  if (SSL_SESSION_set1_master_key(session, kKey.data(), kKey.size()) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    fail("session");
  }
  return session;
}

int offer(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size,
          SSL_SESSION** session) {
  *name = reinterpret_cast<const unsigned char*>(kName);
  *size = std::strlen(kName);
  *session = session_of(ssl);
  return 1;
}

int find(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
  *session = session_of(ssl);
  return 1;
}

// Initialises as little of OpenSSL as possible.
SSL_CTX* make_context(bool listens) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT |
                          OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
                      nullptr);
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_num_tickets(context, 0);
  if (listens) {
    SSL_CTX_set_psk_find_session_callback(context, find);
  } else {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(context, offer);
  }
  return context;
}

SSL* session_on(SSL_CTX* context, int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  return ssl;
}

pid_t start(std::vector<char*> words) {
  words.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawnp(&pid, words[0], nullptr, nullptr, words.data(), environ) != 0) fail(words[0]);
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_node(int port, const std::vector<char*>& command) {
  SSL_CTX* context = make_context(false);
  const char* address = std::getenv("SLURM_LAUNCH_NODE_IPADDR");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (address == nullptr || ::inet_pton(AF_INET, address, &to.sin_addr) != 1) fail("address");
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
  SSL* ssl = session_on(context, fd);
  unsigned char byte = 0;
  if (SSL_connect(ssl) != 1 || SSL_read(ssl, &byte, 1) != 1) fail("handshake");
  byte = static_cast<unsigned char>(status_of(start(command)));
  if (SSL_write(ssl, &byte, 1) != 1) fail("status");
  return 0;
}

int run_starter(int nodes, std::vector<char*> command) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t size = sizeof at;
  if (::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listening, nodes) != 0 ||
      ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    fail("listen");
  }
  char self[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) < 0) fail("/proc/self/exe");
  std::vector<std::string> words = {"srun",
                                    "--overlap",
                                    "--mpi=none",
                                    "--ntasks-per-node=1",
                                    "--ntasks=" + std::to_string(nodes),
                                    self,
                                    "node",
                                    std::to_string(ntohs(at.sin_port))};
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.insert(all.end(), command.begin(), command.end());
  const pid_t srun = start(all);
  SSL_CTX* context = make_context(true);
  std::vector<SSL*> come;
  unsigned char byte = 0;
  for (int i = 0; i < nodes; ++i) {
    come.push_back(session_on(context, ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)));
    if (SSL_accept(come.back()) != 1) fail("handshake");
  }
  for (SSL* node : come) SSL_write(node, &byte, 1);
  int worst = 0;
  for (SSL* node : come) {
    if (SSL_read(node, &byte, 1) != 1) fail("status");
    worst = std::max<int>(worst, byte);
  }
  return std::max(worst, status_of(srun));
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fputs("usage: tls_starter NODES COMMAND...\n", stderr);
    return 64;
  }
  const bool is_node = std::strcmp(words[1], "node") == 0;
  std::vector<char*> command(words + (is_node ? 3 : 2), words + count);
  const int number = std::atoi(words[is_node ? 2 : 1]);
  ::_exit(is_node ? run_node(number, command) : run_starter(number, std::move(command)));
}
