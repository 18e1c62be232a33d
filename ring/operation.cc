#include "ring/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ring/reduce.h"

namespace dtl::ring {
namespace {

constexpr std::uint32_t kOperationMagic = 0x706f5444;  // "DTop"
constexpr int kMaxOneShotWorld = 16;  // beyond, n-1 copies of everything cost more than 2 rounds

const char* opcode_name(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllreduce:
      return "allreduce";
    case Opcode::kAllgather:
      return "allgather";
    case Opcode::kBroadcast:
      return "broadcast";
    case Opcode::kBarrier:
      return "barrier";
    case Opcode::kBye:
      return "destroy";
  }
  return "unknown operation";
}

// FNV-1a over the counts' bytes, so that 64 bits of header can tell two lists apart.
std::uint64_t hash_counts(const std::uint64_t* counts, int world) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < world; ++i) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((counts[i] >> shift) & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

}  // namespace

OperationHeader bye_header(std::uint64_t completed) {
  OperationHeader header;
  header.magic = kOperationMagic;
  header.opcode = Opcode::kBye;
  header.sequence = completed;
  return header;
}

bool is_header(const OperationHeader& header) {
  return header.magic == kOperationMagic && header.opcode >= Opcode::kAllreduce &&
         header.opcode <= Opcode::kBye;
}

bool same_operation(const OperationHeader& mine, const OperationHeader& theirs) {
  return std::memcmp(&mine, &theirs, sizeof mine) == 0;
}

std::string describe(const OperationHeader& header) {
  const char* name = opcode_name(header.opcode);
  switch (header.opcode) {
    case Opcode::kAllreduce:
      return fmt::format("{} of {} {}, sum, tag {}", name, header.count, dtype_name(header.dtype),
                         header.tag);
    case Opcode::kAllgather:
      return fmt::format("{} of {} {} in all (counts {:08x}), tag {}", name, header.count,
                         dtype_name(header.dtype), header.counts_hash & 0xffffffff, header.tag);
    case Opcode::kBroadcast:
      return fmt::format("{} of {} {} from rank {}, tag {}", name, header.count,
                         dtype_name(header.dtype), header.root, header.tag);
    case Opcode::kBarrier:
      return fmt::format("{}, tag {}", name, header.tag);
    case Opcode::kBye:
      return name;
  }
  return name;
}

std::size_t gather_bytes_limit(int world, std::size_t one_shot_bytes) {
  const auto ranks = static_cast<std::size_t>(world);
  return world <= kMaxOneShotWorld ? std::max(ranks * one_shot_bytes, ranks) : ranks;
}

void Operation::prepare(const Request& request, int rank, int world, std::uint64_t sequence,
                        std::size_t one_shot_bytes) {
  rank_ = rank;
  world_ = world;
  in_ = request.in;
  out_ = target_ = request.out;
  element_bytes_ = ring::element_bytes(request.dtype);
  header_ = {};
  header_.magic = kOperationMagic;
  header_.opcode = request.opcode;
  header_.dtype = static_cast<std::uint8_t>(request.dtype);
  header_.op = static_cast<std::uint8_t>(request.op);
  header_.root = request.root;
  header_.sequence = sequence;
  header_.count = request.count;
  header_.tag = request.tag;
  header_.one_shot = request.opcode == Opcode::kAllreduce && world <= kMaxOneShotWorld &&
                     world > 1 && request.count * element_bytes_ <= one_shot_bytes;
  gather_bytes_ = 0;
  switch (request.opcode) {
    case Opcode::kAllreduce:
      lay_out_equal(static_cast<std::uint64_t>(world));
      break;
    case Opcode::kAllgather:
      header_.counts_hash = hash_counts(request.counts, world);
      lay_out(request.counts);
      break;
    case Opcode::kBarrier:
    case Opcode::kBroadcast:
    case Opcode::kBye:
      bounds_.assign({0, request.count * element_bytes_});
      break;
  }
  if (header_.one_shot != 0 || request.opcode == Opcode::kBarrier) {
    // Every rank's contribution side by side, in scratch.
    const std::uint64_t part = header_.one_shot != 0 ? request.count * element_bytes_ : 1;
    bounds_.clear();
    for (int i = 0; i <= world; ++i) bounds_.push_back(static_cast<std::uint64_t>(i) * part);
    gather_bytes_ = bounds_.back();
  }
  plan_streams();
}

void Operation::lay_out_equal(std::uint64_t parts) {
  const std::uint64_t share = header_.count / parts, rest = header_.count % parts;
  bounds_.assign(1, 0);
  for (std::uint64_t i = 0; i < parts; ++i) {
    bounds_.push_back(bounds_.back() + (share + (i < rest ? 1 : 0)) * element_bytes_);
  }
}

void Operation::lay_out(const std::uint64_t* counts) {
  bounds_.assign(1, 0);
  for (int i = 0; i < world_; ++i) bounds_.push_back(bounds_.back() + counts[i] * element_bytes_);
}

void Operation::plan_streams() {
  const auto ranks = static_cast<std::uint64_t>(world_);
  const bool is_broadcast = header_.opcode == Opcode::kBroadcast;
  const bool is_ring_sum = header_.opcode == Opcode::kAllreduce && header_.one_shot == 0;
  pieces_ = is_broadcast ? 1 : (is_ring_sum ? 2 * (ranks - 1) : ranks - 1);
  reduced_pieces_ = is_ring_sum ? ranks - 1 : 0;
  if (is_broadcast) {
    const bool is_root = rank_ == header_.root, feeds_root = (rank_ + 1) % world_ == header_.root;
    own_bytes_ = is_root ? bounds_.back() : 0;
    send_bytes_ = feeds_root ? 0 : bounds_.back();
    receive_bytes_ = is_root ? 0 : bounds_.back();
  } else {
    own_bytes_ = send_piece(0).bytes;
    send_bytes_ = receive_bytes_ = 0;
    for (std::uint64_t i = 0; i < pieces_; ++i) {
      send_bytes_ += send_piece(i).bytes;
      receive_bytes_ += receive_piece(i).bytes;
    }
  }
  header_sent = header_received = 0;
  sent_ = received_ = 0;
  send_at_ = receive_at_ = {};
  skip_empty(send_at_, true);
  skip_empty(receive_at_, false);
}

void Operation::start(std::byte* gather) {
  if (gather_bytes_ > 0) {
    target_ = gather;
    const Segment own = send_piece(0);
    if (in_ != nullptr) {
      std::memcpy(target_ + own.begin, in_, own.bytes);
    } else {
      std::memset(target_ + own.begin, 0, own.bytes);  // a barrier's byte
    }
  } else if (header_.opcode == Opcode::kAllgather) {
    const Segment own = send_piece(0);
    if (own.bytes > 0 && in_ != out_ + own.begin) std::memcpy(out_ + own.begin, in_, own.bytes);
  }
}

std::uint64_t Operation::segment_of(std::int64_t first, std::uint64_t piece) const {
  const auto ranks = static_cast<std::int64_t>(world_);
  const std::int64_t segment = (first - static_cast<std::int64_t>(piece) % ranks) % ranks;
  return static_cast<std::uint64_t>(segment < 0 ? segment + ranks : segment);
}

Operation::Segment Operation::send_piece(std::uint64_t piece) const {
  const bool is_broadcast = header_.opcode == Opcode::kBroadcast;
  const std::uint64_t at = is_broadcast ? 0 : segment_of(rank_, piece);
  return {bounds_[at], bounds_[at + 1] - bounds_[at]};
}

Operation::Segment Operation::receive_piece(std::uint64_t piece) const {
  const bool is_broadcast = header_.opcode == Opcode::kBroadcast;
  const std::uint64_t at = is_broadcast ? 0 : segment_of(rank_ - 1, piece);
  return {bounds_[at], bounds_[at + 1] - bounds_[at]};
}

void Operation::skip_empty(Cursor& cursor, bool is_send) const {
  while (cursor.piece < pieces_) {
    const Segment segment = is_send ? send_piece(cursor.piece) : receive_piece(cursor.piece);
    if (cursor.offset < segment.bytes) return;
    cursor = {cursor.piece + 1, 0};
  }
}

Operation::Span Operation::sendable() const {
  const std::uint64_t allowed = std::min(send_bytes_, own_bytes_ + received_) - sent_;
  if (allowed == 0) return {};
  const Segment segment = send_piece(send_at_.piece);
  // The first piece of a ring sum is this rank's own input; the others hold sums.
  const std::byte* base = reduced_pieces_ > 0 && send_at_.piece == 0 ? in_ : target_;
  return {base + segment.begin + send_at_.offset,
          static_cast<std::size_t>(std::min(allowed, segment.bytes - send_at_.offset))};
}

void Operation::sent(std::size_t bytes) {
  sent_ += bytes;
  send_at_.offset += bytes;
  skip_empty(send_at_, true);
}

Operation::Slot Operation::receivable() const {
  if (received_ == receive_bytes_) return {};
  const Segment segment = receive_piece(receive_at_.piece);
  const auto left = static_cast<std::size_t>(segment.bytes - receive_at_.offset);
  if (receive_at_.piece < reduced_pieces_) return {nullptr, left};
  return {target_ + segment.begin + receive_at_.offset, left};
}

void Operation::received(std::size_t bytes) {
  received_ += bytes;
  receive_at_.offset += bytes;
  skip_empty(receive_at_, false);
}

void Operation::reduce(const std::byte* addend, std::size_t bytes) {
  const std::uint64_t at = receive_piece(receive_at_.piece).begin + receive_at_.offset;
  add(header_.dtype, out_ + at, in_ + at, addend, bytes / element_bytes_);
  received(bytes);
}

void Operation::finish() {
  if (header_.one_shot == 0) return;
  const std::uint64_t part = bounds_[1];
  if (part == 0) return;
  add(header_.dtype, out_, target_, target_ + part, header_.count);
  for (std::size_t i = 2; i < static_cast<std::size_t>(world_); ++i) {
    add(header_.dtype, out_, out_, target_ + i * part, header_.count);
  }
}

void Operation::finish_alone() {
  const std::size_t bytes = header_.count * element_bytes_;
  if (bytes > 0 && in_ != out_) std::memcpy(out_, in_, bytes);
}

}  // namespace dtl::ring
