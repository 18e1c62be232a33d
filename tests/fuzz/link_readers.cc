// Readers of socket data: frames and marker lines between launcher and agent; handshakes, control
// frames and operation headers between ranks.

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <variant>

#include "agent/cloud/cloud_talk.h"
#include "agent/pmi/pmi2_message.h"
#include "agent/pmi/pmi_server.h"
#include "base/crc32c.h"
#include "base/fd.h"
#include "base/text.h"
#include "launcher/job/native_frames.h"
#include "launcher/job/rank_stack.h"
#include "launcher/join/join_words.h"
#include "ring/dtring.h"
#include "ring/links/operation_header.h"
#include "ring/meeting/control_line.h"
#include "ring/meeting/handshake.h"
#include "tests/fuzz/reader.h"
#include "tests/wire/examples.h"
#include "tests/wire/frame_bytes.h"
#include "wire/answer.h"
#include "wire/environments.h"
#include "wire/frame.h"
#include "wire/greeting.h"
#include "wire/tls/tls_session.h"

namespace dtl::fuzz {
namespace {

bool is_version_error(const Error& error) {
  return error.status() == Exit::kVersion && !error.reason().empty();
}

// Corrects the length and checksum of each complete frame, so that inputs reach the decoders of
// messages. Bytes after the last frame stay.
std::string repaired(std::string bytes) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
  };
  if (bytes.size() < kFrameHeaderBytes) return bytes;
  put(0, static_cast<std::uint32_t>(bytes.size() - kFrameHeaderBytes));
  put(8, crc32c(std::string_view(bytes).substr(kFrameHeaderBytes)));
  put(12, 0);
  return bytes;
}

// Agents' texts are escaped when read, and may then be too long to encode.
bool is_as_it_came(const Message& message) {
  return std::visit([](const auto& each) { return !AgentsMessage<std::decay_t<decltype(each)>>; },
                    message);
}

// Feeds two pieces, as sockets may. Decoded launcher messages must encode to the same bytes.
// Environment 1, which the examples extend, already exists.
void read_frames(const std::string& bytes) {
  FrameReader reader;
  Environments environments;
  environments.add({0, {{0, "PATH=/bin"}, {0, "HOME=/"}}});
  const std::size_t half = bytes.size() / 2;
  for (const std::string& piece : {bytes.substr(0, half), bytes.substr(half)}) {
    reader.feed(piece);
    while (const auto message = reader.next()) {
      if (is_as_it_came(*message)) {
        FrameReader again;
        again.feed(frame_bytes(*message, 0));
        require(again.next().has_value(), "a message that cannot be said again");
      }
      if (const auto* shared = std::get_if<Environment>(&*message)) environments.add(*shared);
      if (const auto* start = std::get_if<Start>(&*message)) {
        for (const RankSpec& rank : start->ranks) environments.lines(rank.environment);
      }
    }
  }
}

// A rank's stack: any program may have written it, and dtlaunch prints it.
void read_stack(const std::string& bytes) {
  const RankStack stack = parse_stack(bytes);
  for (const std::string& text : {stack.collective, stack.details, stack.since}) {
    require(printable(text) == text, "hidden characters");
  }
  for (const StackFrame& frame : stack.frames) {
    require(printable(frame_text(frame)) == frame_text(frame), "hidden characters");
    require(frame.line >= 0, "a line before the first");
  }
  require((where(stack) == nullptr) == stack.frames.empty(), "frames, and it is nowhere");
  require(stack.details.starts_with(stack.collective), "a collective of another name");
  for (const std::string& frame : native_frames(bytes)) {
    require(printable(frame) == frame, "hidden characters");
  }
}

std::vector<Reader> agent_readers() {
  std::vector<std::string> frames;
  for (const auto& [name, message] : example_messages()) frames.push_back(frame_bytes(message, 0));
  const std::string marker = to_line(Greeting{kProtocol, "0.1.0", std::string(32, 'a')});
  return {
      {"frames", frames, {}, read_frames, is_version_error},
      {"frame-bodies",
       frames,
       {std::string(4, '\xff'), std::string(4, '\0')},
       [](const std::string& bytes) { read_frames(repaired(bytes)); },
       is_version_error},
      {"greeting",
       {marker, "Welcome to n1\n" + marker + "rest"},
       {"\nDTLAUNCH-AGENT ", "DTLAUNCH", "4294967296"},
       [](const std::string& bytes) {
         const auto found = find_greeting(bytes);
         require(!found || found->greeting.nonce.size() == 32, "a nonce of another length");
         require(!found || bytes.ends_with(found->rest), "new bytes");
         require(!found || printable_lines(found->noise) == found->noise, "hidden characters");
       },
       is_version_error},
      {"answer",
       {answer_line() + "text", "noise\n" + answer_line()},
       {answer_line()},
       [](const std::string& bytes) { (void)find_answer(bytes); },
       is_version_error},
      {"stack",
       {"Thread 0x01 (most recent call first):\n"
        "  File \"/dtring/_stacks.py\", line 9 in recv of 8 B of int64, since 10:00:00\n"
        "Current thread 0x02 (most recent call first):\n  File \"a.py\", line ??? in <module>\n",
        "  File \"/torch/distributed/distributed_c10d.py\", line 8 in barrier\n"},
       {"(most recent call first):", "  File \"", "\", line ", " in ", ", since ", " of "},
       read_stack,
       is_version_error}};
}

// ---- nodes that join by themselves

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

// Bytes from an unauthenticated caller, in two pieces. They are a proof only if they equal the
// whole message of a caller that knows the token.
void read_stranger(const std::string& bytes) {
  TlsSession listener(TlsSession::Side::kListens, kToken);
  const std::size_t half = bytes.size() / 2;
  for (const std::string& piece : {bytes.substr(0, half), bytes.substr(half)}) {
    listener.feed(piece);
    require(!listener.shake_hands(), "a proof without an exchange");
    (void)listener.take_output();
  }
}

void read_join_frames(const std::string& bytes) {
  JoinFrameReader reader;
  std::string again;
  const std::size_t half = bytes.size() / 2;
  for (const std::string& piece : {bytes.substr(0, half), bytes.substr(half)}) {
    reader.feed(piece);
    while (const auto frame = reader.next()) again += frame_bytes(*frame);
  }
  require(bytes.starts_with(again), "other frames than came");
}

void read_hello(const std::string& bytes) {
  const auto hello = parse_hello(bytes);
  if (!hello) return;
  require(printable(hello->version) == hello->version, "hidden characters");
  require(printable(hello->job) == hello->job, "hidden characters");
  const bool ours = hello->protocol == kProtocol && hello->version == DTL_VERSION;
  require(!ours || parse_hello(to_text(*hello)) == hello, "a hello that cannot be said again");
}

bool is_auth_error(const Error& error) {
  return error.status() == Exit::kAuth && !error.reason().empty();
}

std::vector<Reader> join_readers() {
  TlsSession caller(TlsSession::Side::kCalls, kToken);
  (void)caller.shake_hands();
  const JoinSeat seat{"0123456789abcdef", 1, 3};
  const std::string hello = to_text({kProtocol, DTL_VERSION, "job", 1, 2, "web-2"});
  const std::string again = to_text({kProtocol, DTL_VERSION, "job", 1, 2, "web-2", seat});
  return {{"tls", {caller.take_output()}, {"dtlaunch join 1"}, read_stranger, is_auth_error},
          {"join-frames",
           {frame_bytes({JoinFrame::Kind::kHello, hello}) +
            frame_bytes({JoinFrame::Kind::kBytes, "bytes"}) +
            frame_bytes({JoinFrame::Kind::kEnded, "exit status 0"})},
           {},
           read_join_frames,
           is_version_error},
          {"join-hello", {hello, again}, {"\n-\n", "\n-"}, read_hello, is_version_error}};
}

// ---- the ring

using ring::Progress;

const ring::Identity& own_identity() {
  static const ring::Identity identity{42, 4, 3, std::vector<std::uint8_t>(32, 1)};
  return identity;
}

void say(int fd, const std::string& bytes) {
  require(bytes.empty() || ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                               static_cast<ssize_t>(bytes.size()),
          "the socket takes no more");
}

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The client's first message.
std::string client_hello() {
  static const ring::Identity caller{42, 4, 2, std::vector<std::uint8_t>(32, 1)};
  SocketPair pair = make_socketpair(SOCK_STREAM);
  ring::ClientHandshake client(caller, 3, ring::Stream::kData, 0, std::move(pair.first));
  require(client.step() == Progress::kAgain, "the client does not wait");
  std::string bytes(sizeof(ring::Hello), '\0');
  require(::recv(pair.second.get(), bytes.data(), bytes.size(), MSG_WAITALL) ==
              static_cast<ssize_t>(bytes.size()),
          "the hello is not whole");
  return bytes;
}

// No input can contain the keyed answer to a fresh nonce.
void read_as_server(const std::string& bytes) {
  SocketPair pair = make_socketpair(SOCK_STREAM);
  ring::ServerHandshake server(own_identity(), std::move(pair.first));
  say(pair.second.get(), bytes);
  require(server.step() != Progress::kDone, "a stranger was let in");
}

void read_as_client(const std::string& bytes) {
  SocketPair pair = make_socketpair(SOCK_STREAM);
  ring::ClientHandshake client(own_identity(), 2, ring::Stream::kControl, 0, std::move(pair.first));
  say(pair.second.get(), bytes);
  const Progress progress = client.step();
  require(progress != Progress::kDone, "a stranger was believed");
  require(progress == Progress::kAgain || !client.reason().empty(), "a failure without a reason");
}

void read_control(const std::string& bytes) {
  SocketPair pair = make_socketpair(SOCK_STREAM);
  say(pair.second.get(), bytes);
  pair.second.reset();
  ring::Channel near(std::move(pair.first));
  ring::FrameReader reader;
  std::vector<ring::Frame> frames;
  const ring::LineState state = reader.read(near, frames);
  require(state != ring::LineState::kOpen, "a closed line is taken for open");
  std::string again;
  for (const ring::Frame& frame : frames) again += ring::encode(frame);
  require(bytes.starts_with(again), "other frames than were sent");
}

void read_operation(const std::string& bytes) {
  ring::OperationHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), std::min(bytes.size(), sizeof header));
  if (!ring::is_header(header)) return;
  require(!ring::describe(header).empty(), "no description");
  require(ring::same_operation(header, header), "another operation than itself");
}

std::vector<Reader> ring_readers() {
  const ring::Reply reply{0x72745444, ring::kRingProtocol, 0, {}, {}};
  ring::OperationHeader header;
  header.magic = ring::kOperationMagic;
  header.opcode = ring::Opcode::kAllreduce;
  header.count = 12;
  std::string control;
  using Kind = ring::FrameKind;
  for (const Kind kind : {Kind::kJoin, Kind::kTable, Kind::kFail, Kind::kBye, Kind::kNodes}) {
    control += ring::encode({kind, 1, 2, 3, "text"});
  }
  const auto never = [](const Error&) { return false; };  // they do not throw
  return {{"ring-server", {client_hello() + std::string(32, 'p')}, {}, read_as_server, never},
          {"ring-client", {bytes_of(reply)}, {}, read_as_client, never},
          {"ring-control", {control}, {std::string(4, '\xff')}, read_control, never},
          {"ring-operation", {bytes_of(header)}, {}, read_operation, never}};
}

// A cloud's metadata answers: a notice is valid, or there is none.
void read_metadata(const std::string& bytes) {
  constexpr std::time_t kNow = 1505722800;
  const auto check = [](const std::optional<CloudNotice>& notice) {
    if (!notice) return;
    require(notice->left > std::chrono::milliseconds(0) && notice->left <= std::chrono::hours(1) &&
                notice->told_by.size() < 100,
            "a notice");
  };
  bool valid = false;
  check(read_instance_action(bytes, kNow));
  check(read_scheduled_events(bytes, "vm", kNow, valid));
  for (const Cloud cloud : {Cloud::kAws, Cloud::kGcp, Cloud::kAzure}) {
    CloudTalk talk(cloud);
    std::optional<MetadataRequest> request = talk.begin();
    for (int answers = 0; request; ++answers) {
      require(answers < 4, "a round without an end");
      for (const auto& [name, value] : request->headers) {
        require(value.find_first_of("\r\n") == value.npos, "a header of two lines");
      }
      request = talk.take(MetadataAnswer{answers == 1 ? 401 : 200, true, bytes}, kNow);
    }
    check(talk.notice());
  }
}

std::vector<Reader> cloud_readers() {
  const auto never = [](const Error&) { return false; };  // they do not throw
  const std::string action = R"({"action": "stop", "time": "2017-09-18T08:22:00Z"})";
  const std::string events = R"({"DocumentIncarnation": 1, "Events": [{"EventType": "Preempt",
    "EventStatus": "Scheduled", "Resources": ["vm"], "NotBefore": "Mon, 18 Sep 2017 08:20:40 GMT"}]})";
  return {{"metadata",
           {action, events, "TRUE", "token"},
           {"terminate", "Terminate"},
           read_metadata,
           never}};
}

bool is_pmi_line(const std::string& text) {
  return text.starts_with("cmd=") && text.find('\n') == text.size() - 1;
}

bool is_pmi2_message(const std::string& text) {
  const std::string body = text.substr(std::min(text.size(), kPmi2LengthBytes));
  return text.starts_with(fmt::format("{:6}", body.size())) &&
         parse_pmi2_message(body).name.ends_with("-response");
}

// What a rank writes to its PMI server, in two pieces. Rank 1, on the same node, waits for it.
void read_pmi(const std::string& bytes) {
  PmiServer server({2, 2, "space", "(vector,(0,1,2))", {{0, 0}, {1, 0}}},
                   [](pid_t) { return true; });
  server.received(1, 1, "cmd=init pmi_version=1\ncmd=barrier_in\n");
  bool ended = false;
  const std::size_t half = bytes.size() / 2;
  for (const std::string& piece : {bytes.substr(0, half), bytes.substr(half)}) {
    for (pmi::Effect& effect : server.received(0, 2, piece)) {
      require(!ended, "an answer after the end");
      if (const auto* reply = std::get_if<pmi::Reply>(&effect)) {
        require(is_pmi_line(reply->text) || is_pmi2_message(reply->text), "a malformed answer");
      }
      if (const auto* told = std::get_if<pmi::News>(&effect)) {
        ended = true;
        require(printable(told->news.text) == told->news.text, "hidden characters");
        (void)frame_bytes(told->news, 0);
      }
      if (const auto* fence = std::get_if<pmi::Fence>(&effect)) {
        for (const PmiFence& part : fence->parts) (void)frame_bytes(part, 0);
        server.fenced({fence->parts.front().entries, false});
      }
    }
  }
}

std::vector<Reader> pmi_readers() {
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1\n";
  const std::string init2 =
      "cmd=init pmi_version=2 pmi_subversion=0\n" + pmi2_message("fullinit", {});
  return {
      {"pmi",
       {init + "cmd=get_maxes\ncmd=get_my_kvsname\ncmd=get kvsname=space key=PMI_process_mapping\n",
        init + "cmd=put kvsname=space key=-bcast-1-0 value=2F64\ncmd=barrier_in\ncmd=finalize\n",
        init + "mcmd=spawn\nnprocs=1\ntotspawns=1\nspawnssofar=1\nendcmd\n",
        "cmd=abort exitcode=-1 message=PMI_Init failed\n",
        init2 + pmi2_message("kvs-put", {{"key", "k"}, {"value", "a;b"}}) +
            pmi2_message("kvs-get", {{"key", "k"}}) + pmi2_message("kvs-fence", {{"thrid", "1"}}) +
            pmi2_message("finalize", {}),
        init2 + pmi2_message("info-getnodeattr", {{"key", "k"}, {"wait", "TRUE"}}) +
            pmi2_message("info-putnodeattr", {{"key", "k"}, {"value", "v"}})},
       {"cmd=", ";;", "    24cmd=", "mcmd=spawn\n", "endcmd\n", "barrier_in\n",
        "put key=", " value=", "get key="},
       read_pmi,
       [](const Error&) { return false; }}};  // it does not throw
}

}  // namespace

std::vector<Reader> link_readers() {
  std::vector<Reader> readers = agent_readers();
  for (Reader& one : join_readers()) readers.push_back(std::move(one));
  for (Reader& one : tree_readers()) readers.push_back(std::move(one));
  for (Reader& one : ring_readers()) readers.push_back(std::move(one));
  for (Reader& one : pmi_readers()) readers.push_back(std::move(one));
  for (Reader& one : pmix_readers()) readers.push_back(std::move(one));
  for (Reader& one : cloud_readers()) readers.push_back(std::move(one));
  return readers;
}

}  // namespace dtl::fuzz
