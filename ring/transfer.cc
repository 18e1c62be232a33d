#include "ring/transfer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dtl::ring {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

Transfer::Transfer(Fd to_next, Fd from_previous, std::size_t gather_bytes)
    : to_next_(std::move(to_next)),
      from_previous_(std::move(from_previous)),
      scratch_(kChunkBytes + kWindow * round_up(gather_bytes)) {
  for (std::size_t i = 0; i < kWindow; ++i) {
    gather_[i] = scratch_.data() + kChunkBytes + i * round_up(gather_bytes);
  }
}

void Transfer::start(Operation& operation) {
  operation.start(gather_[operation.sequence() % kWindow]);
  window_[active_++] = &operation;
}

Operation* Transfer::take_finished() {
  if (active_ == 0 || !window_[0]->is_received() || !window_[0]->is_sent()) return nullptr;
  Operation* finished = window_[0];
  window_[0] = window_[1];
  --active_;
  finished->finish();
  return finished;
}

Operation* Transfer::receiving() const {
  for (std::size_t i = 0; i < active_; ++i) {
    if (!window_[i]->is_received()) return window_[i];
  }
  return nullptr;
}

Operation* Transfer::sending() const {
  for (std::size_t i = 0; i < active_; ++i) {
    if (!window_[i]->is_sent()) return window_[i];
  }
  return nullptr;
}

bool Transfer::step() {
  const bool has_received = receive_some();
  const bool has_sent = send_some();
  return has_received || has_sent;
}

bool Transfer::receive_some() {
  if (mismatch || previous_left) return false;
  Operation* operation = receiving();
  if (operation == nullptr || operation->header_received == 0) return receive_header(operation);
  return receive_payload(*operation);
}

// True if bytes came. A short read says that the socket is empty, which saves the call that would
// say EAGAIN; the next byte makes a new edge.
bool Transfer::note_read(std::ptrdiff_t result, std::size_t wanted) {
  if (result < 0 && errno == EINTR) return false;
  if (result < static_cast<std::ptrdiff_t>(wanted)) readable_ = false;
  if (result > 0) return true;
  if (result == 0 || errno != EAGAIN) previous_closed = result == 0 ? 0 : errno;
  return false;
}

// Reads the next header, also when this rank has not come so far yet, and with it, to save a
// system call, what follows it.
bool Transfer::receive_header(Operation* operation) {
  bool moved = false;
  std::size_t payload = 0;
  if (incoming_filled_ < sizeof incoming_) {
    if (!readable_) return false;
    std::array<iovec, 2> parts{};
    parts[0] = {reinterpret_cast<std::byte*>(&incoming_) + incoming_filled_,
                sizeof incoming_ - incoming_filled_};
    if (operation != nullptr) {
      const Operation::Slot slot = operation->receivable();
      parts[1] = {slot.target != nullptr ? slot.target : scratch_.data(),
                  std::min(slot.bytes, kChunkBytes)};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = ::recvmsg(from_previous_.get(), &message, MSG_DONTWAIT);
    if (!note_read(n, parts[0].iov_len + parts[1].iov_len)) return false;
    moved = true;
    const std::size_t of_header = std::min(static_cast<std::size_t>(n), parts[0].iov_len);
    incoming_filled_ += of_header;
    payload = static_cast<std::size_t>(n) - of_header;
  }
  if (incoming_filled_ < sizeof incoming_) return moved;
  if (incoming_.opcode == Opcode::kBye && is_header(incoming_)) {
    previous_left = incoming_.sequence;
    return true;
  }
  if (operation == nullptr || !check_header(*operation)) return moved;
  if (payload > 0) take_payload(*operation, payload);
  return true;
}

bool Transfer::check_header(Operation& operation) {
  if (!same_operation(operation.header(), incoming_)) {
    mismatch = Mismatch{operation.header(), incoming_};
    return false;
  }
  operation.header_received = sizeof incoming_;
  incoming_filled_ = 0;
  scratch_filled_ = 0;
  return true;
}

bool Transfer::receive_payload(Operation& operation) {
  if (!readable_) return false;
  const Operation::Slot slot = operation.receivable();
  const bool is_sum = slot.target == nullptr;
  std::byte* target = is_sum ? scratch_.data() + scratch_filled_ : slot.target;
  const std::size_t wanted = is_sum ? std::min(slot.bytes, kChunkBytes) - scratch_filled_
                                    : std::min(slot.bytes, kChunkBytes);
  const ssize_t n = ::recv(from_previous_.get(), target, wanted, MSG_DONTWAIT);
  if (!note_read(n, wanted)) return false;
  take_payload(operation, static_cast<std::size_t>(n));
  return true;
}

// bytes have arrived where receivable() wanted them, behind those of an unfinished element.
void Transfer::take_payload(Operation& operation, std::size_t bytes) {
  if (operation.receivable().target != nullptr) {
    operation.received(bytes);
    return;
  }
  scratch_filled_ += bytes;
  const std::size_t whole = scratch_filled_ - scratch_filled_ % operation.element_bytes();
  operation.reduce(scratch_.data(), whole);
  scratch_filled_ -= whole;
  std::memmove(scratch_.data(), scratch_.data() + whole, scratch_filled_);
}

bool Transfer::send_some() {
  if (!writable_ || next_closed) return false;
  Operation* operation = sending();
  if (operation == nullptr) return false;
  const OperationHeader& header = operation->header();
  const Operation::Span span = operation->sendable();
  std::array<iovec, 2> parts{};
  parts[0] = {
      const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&header)) + operation->header_sent,
      sizeof header - operation->header_sent};
  parts[1] = {const_cast<std::byte*>(span.data), std::min(span.bytes, kChunkBytes)};
  const std::size_t wanted = parts[0].iov_len + parts[1].iov_len;
  if (wanted == 0) return false;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t n = ::sendmsg(to_next_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno == EINTR) return true;
  if (n < static_cast<ssize_t>(wanted)) writable_ = false;
  if (n < 0) {
    if (errno != EAGAIN && errno != ENOBUFS) next_closed = errno;
    return false;
  }
  const std::size_t of_header = std::min(static_cast<std::size_t>(n), parts[0].iov_len);
  operation->header_sent += of_header;
  if (static_cast<std::size_t>(n) > of_header) {
    operation->sent(static_cast<std::size_t>(n) - of_header);
  }
  return true;
}

bool Transfer::has_data_to_send() const {
  const Operation* operation = sending();
  return operation != nullptr &&
         (operation->header_sent < sizeof(OperationHeader) || operation->sendable().bytes > 0);
}

bool Transfer::is_between_operations() const {
  const Operation* operation = sending();
  return operation == nullptr || operation->header_sent == 0;
}

bool Transfer::say_bye(std::uint64_t completed) {
  const OperationHeader header = bye_header(completed);
  return ::send(to_next_.get(), &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof header);
}

}  // namespace dtl::ring
