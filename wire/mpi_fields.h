#pragma once
// The part of the field table (fields.h) that is about MPI programs.

#include "wire/field_kinds.h"
#include "wire/mpi_messages.h"

namespace dtl {

template <class Io, Is<PmiRank> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("program", m.program, kMaxRanks - 1);
}
// As bytes: they belong to the ranks, which get them back unchanged.
template <class Io, Is<PmiEntry> M>
void fields(Io& io, M& m) {
  io.bytes("key", m.key, kMaxPmiKeyBytes);
  io.bytes("value", m.value, kMaxPmiValueBytes);
}
template <class Io, class M>
void pmi_entries(Io& io, M& entries) {
  io.list("entries", entries, kMaxPmiEntries, kLeastPmiEntry,
          [](Io& to, auto& entry) { fields(to, entry); });
}

template <class Io, Is<PmixPlace> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.number("program", m.program, kMaxRanks - 1);
}
template <class Io, class M>
void rank_list(Io& io, M& ranks) {
  io.list("ranks", ranks, kMaxRanks, 4,
          [](Io& to, auto& rank) { to.number("ranks", rank, kMaxRanks - 1); });
}

template <class Io, Is<ServePmi> M>
void fields(Io& io, M& m) {
  io.number("world", m.world, kMaxRanks);
  io.number("nodes", m.nodes, kMaxRanks);
  io.text("space", m.space, kMaxNameBytes);
  io.text("mapping", m.mapping, kMaxPmiValueBytes);
  io.list("ranks", m.ranks, kMaxRanks, kLeastPmiRank, [](Io& to, auto& rank) { fields(to, rank); });
}
template <class Io, Is<PmiFence> M>
void fields(Io& io, M& m) {
  pmi_entries(io, m.entries);
  io.flag("more", m.more);
}
template <class Io, Is<PmiFenced> M>
void fields(Io& io, M& m) {
  pmi_entries(io, m.entries);
  io.flag("more", m.more);
}
template <class Io, Is<MpiNews> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  enum_field(io, "event", m.event, 4);
  io.number("code", m.code, UINT32_MAX);
  io.text("text", m.text, kMaxTextBytes);
}
template <class Io, Is<ServePmix> M>
void fields(Io& io, M& m) {
  io.text("space", m.space, kMaxNameBytes);
  io.number("node", m.node, kMaxRanks - 1);
  texts(io, "hosts", m.hosts, kMaxRanks, kMaxNameBytes);
  io.list("places", m.places, kMaxRanks, kLeastPmixPlace,
          [](Io& to, auto& place) { fields(to, place); });
}
template <class Io, Is<PmixReady> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  texts(io, "variables", m.variables, kMaxPmixVariables, kMaxPathBytes);
}
template <class Io, Is<PmixFence> M>
void fields(Io& io, M& m) {
  rank_list(io, m.ranks);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}
template <class Io, Is<PmixFenced> M>
void fields(Io& io, M& m) {
  rank_list(io, m.ranks);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}
template <class Io, Is<PmixWanted> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("node", m.node, kMaxRanks - 1);
  io.number("number", m.number, UINT32_MAX);
}
template <class Io, Is<PmixGiven> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.number("number", m.number, UINT32_MAX);
  io.number("failure", m.failure, UINT32_MAX);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}

}  // namespace dtl
