// Splits communicators: the ranks of one color connect at their first one (by key, then by rank).
// The parent distributes the data for that: colors, keys, and each rank's listening address. A part
// has separate connections, engine and thread, so that it does not wait for its parent.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ring/api/comm.h"
#include "ring/api/environment.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"

namespace dtl::ring {
namespace {

// A rank's data for a split. Gathered as bytes, so it has no pointers and a fixed size.
struct Card {
  std::int32_t color = -1, key = 0, port = 0;
  std::array<char, 64> address{};  // numeric
};

// The ranks of a color, ordered by key and then by rank.
std::vector<int> members_of(int color, const std::vector<Card>& cards) {
  const auto card = [&](int rank) { return cards[static_cast<std::size_t>(rank)]; };
  std::vector<int> members;
  for (int rank = 0; rank < static_cast<int>(cards.size()); ++rank) {
    if (card(rank).color == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int left, int right) { return card(left).key < card(right).key; });
  return members;
}

// A part's options: the agreed values of the parent, and this rank's place and name.
CommOptions options_of_part(const CommOptions& whole, const Agreement& agreement,
                            const Card& leader, std::uint64_t job, bool tunes) {
  CommOptions part = whole;
  part.master_address = leader.address.data();
  part.master_port = leader.port;
  part.own_address = agreement.own_address;
  part.job = job;
  part.settings = agreement.settings;
  part.settings.tunes = tunes && part.settings.allreduce.empty() ? 1 : 0;
  return part;
}

}  // namespace

int Comm::split(int color, int key, Comm** part) {
  *part = nullptr;
  try {
    if (world_ == 1) {
      if (color >= 0) *part = new Comm(0, 1, tuning_);
      return DT_OK;
    }
    Card own;
    own.color = color;
    own.key = key;
    const std::string& address = agreement_.own_address;
    // Every rank opens one before it knows the colors: the first rank of a part must listen before
    // the others connect.
    const Fd listener_owner = listen_on(resolve(address, 0).front(), 1024);
    own.port = local_address(listener_owner.get()).port();
    std::strncpy(own.address.data(), address.c_str(), own.address.size() - 1);
    std::vector<Card> cards(static_cast<std::size_t>(world_));
    Request request;
    request.opcode = Opcode::kAllgather;
    request.count = sizeof(Card);
    request.in = reinterpret_cast<const std::byte*>(&own);
    request.out = reinterpret_cast<std::byte*>(cards.data());
    carry_out(request);
    // Also for those that get no part, so that the number stays the same on all ranks. It makes the
    // job number of each part another one, and callers of two splits cannot be mixed up.
    const std::uint64_t number = ++parts_;
    // After the allgather, which needs all ranks.
    if (color < 0) return DT_OK;
    const std::vector<int> members = members_of(color, cards);
    const Card& leader = cards[static_cast<std::size_t>(members[0])];
    const std::uint64_t job = job_number(fmt::format("{}/{}/{}", options_.job, number, color));
    *part = join_part(members, options_of_part(options_, agreement_, leader, job, tuning_.tunes),
                      Fd(::fcntl(listener_owner.get(), F_DUPFD_CLOEXEC, 0)))
                .release();
    return DT_OK;
  } catch (const CommError& error) {
    *part = failed_comm(error.dt_status(), error.what());
    return error.dt_status();
  }
}

std::unique_ptr<Comm> Comm::join_part(const std::vector<int>& members, CommOptions options,
                                      Fd listener) {
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  auto part =
      std::make_unique<Comm>(static_cast<int>(place), static_cast<int>(members.size()), tuning_);
  if (members.size() == 1) return part;
  part->options_ = std::move(options);
  part->part_secret_ = part_secret_;
  part->meet_others(part_secret_.bytes(), place == 0 ? std::move(listener) : Fd());
  return part;
}

}  // namespace dtl::ring
