#include "agent/tree/shared_frames.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/sha256.h"

namespace dtl {
namespace {

std::string digest_of(const std::string& piece) {
  Sha256 sum;
  sum.add(piece);
  const Sha256::Digest digest = sum.digest();
  return {digest.begin(), digest.end()};
}

}  // namespace

void SharedFrames::keep(std::string piece) {
  std::string digest = digest_of(piece);
  const std::size_t size = piece.size();
  if (!kept_.try_emplace(digest, std::move(piece)).second) return;
  kept_bytes_ += size;
  order_.push_back(std::move(digest));
  while (kept_bytes_ > kMostKept) {
    const auto oldest = kept_.find(order_.front());
    order_.pop_front();
    if (oldest == kept_.end()) continue;
    kept_bytes_ -= oldest->second.size();
    kept_.erase(oldest);
  }
}

std::vector<PieceWanted> SharedFrames::expect(SharedFrame frame) {
  std::vector<PieceWanted> wanted;
  Waiting& next = waiting_.emplace_back();
  next.pieces.resize(frame.digests.size());
  next.digests = std::move(frame.digests);
  for (std::size_t i = 0; i < next.digests.size(); ++i) {
    const auto found = kept_.find(next.digests[i]);
    if (found == kept_.end()) {
      wanted.push_back({next.digests[i]});
      ++next.lacking;
      continue;
    }
    next.pieces[i] = std::move(found->second);
    kept_bytes_ -= next.pieces[i].size();
    kept_.erase(found);
    std::erase(order_, next.digests[i]);
    next.digests[i].clear();
  }
  return wanted;
}

void SharedFrames::give(PieceGiven piece) {
  const std::string digest = digest_of(piece.bytes);
  for (Waiting& frame : waiting_) {
    const auto at = std::find(frame.digests.begin(), frame.digests.end(), digest);
    if (at == frame.digests.end()) continue;
    at->clear();
    frame.pieces[static_cast<std::size_t>(at - frame.digests.begin())] = std::move(piece.bytes);
    --frame.lacking;
    return;
  }
  throw Error(Exit::kVersion, "unexpected message", "a piece that no frame lacks");
}

std::vector<std::string> SharedFrames::take() {
  std::vector<std::string> frames;
  while (!waiting_.empty() && waiting_.front().lacking == 0) {
    std::string& bytes = frames.emplace_back();
    for (const std::string& piece : waiting_.front().pieces) bytes += piece;
    waiting_.pop_front();
  }
  return frames;
}

}  // namespace dtl
