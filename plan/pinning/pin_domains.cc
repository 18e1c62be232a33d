// One function for each kind of request. All fill one CpuSet per local rank and stay within
// `allowed`. There is no fallback: an impossible pin is an error, since the job would otherwise run
// slowly for days.
#include "plan/pinning/pin_domains.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "plan/pinning/pin_objects.h"
#include "plan/pinning/pin_words.h"

namespace dtl {
namespace {

class Applied {
 public:
  Applied(const PinRequest& request, const NodeTopology& topology, int local_size, int threads,
          const std::string& host)
      : request_(request),
        topology_(topology),
        ranks_(static_cast<std::size_t>(local_size)),
        threads_(threads),
        host_(host) {}

  PinDomains make() {
    switch (request_.kind) {
      case PinKind::kDefault:
      case PinKind::kNone:
        domains_.of_rank.resize(ranks_);
        break;
      case PinKind::kMasks:
        take_masks();
        break;
      case PinKind::kShape:
        take(ordered(objects_of(topology_, request_.object)));
        break;
      case PinKind::kSize:
        take(ordered(sized_domains()));
        break;
      case PinKind::kProcessor:
        take_processors();
        break;
      case PinKind::kUser:
        take_user_list();
        break;
      case PinKind::kObject:
        take_objects();
        break;
    }
    return std::move(domains_);
  }

 private:
  void take(std::vector<CpuSet> of_rank) { domains_.of_rank = std::move(of_rank); }

  std::vector<CpuSet> ordered(const std::vector<CpuSet>& units) const {
    return arrange(topology_, units, request_.order.value_or(PinOrder::kBunch), ranks_);
  }

  // Always stays within the CPUs that this node allows: the kernel would silently cut or refuse any
  // other mask.
  void check_allowed(const CpuSet& mask) const {
    const CpuSet outside = mask - topology_.allowed;
    if (outside.empty()) return;
    CpuSet known;
    for (const Core& core : topology_.cores) known = known | CpuSet(core.cpus);
    const CpuSet missing = outside - known;
    // Two mistakes with different fixes: the machine lacks the CPU, or this job may not use it.
    const std::string reason =
        missing == outside
            ? fmt::format("the node does not have CPU {}", missing.to_list())
            : fmt::format("the affinity or cpuset there keeps out CPU {}", outside.to_list());
    throw Error(Exit::kConfig, fmt::format("{}: {}", host_, request_.origin), reason,
                fmt::format("CPUs of {}", topology_.allowed.to_list()));
  }

  void take_masks() {
    std::vector<CpuSet> domains = request_.masks;
    CpuSet left = topology_.allowed;
    for (const CpuSet& mask : domains) {
      check_allowed(mask);
      left = left - mask;
    }
    const std::size_t given = domains.size();
    // As in Intel MPI, ranks beyond the masks get the CPUs that no mask has.
    if (!left.empty()) domains.push_back(left);
    // More ranks than domains: they share them, starting with the first.
    for (std::size_t k = 0; k < ranks_; ++k) {
      domains_.of_rank.push_back(domains[k % domains.size()]);
    }
    if (ranks_ > given) {
      domains_.warnings.push_back(
          left.empty()
              ? fmt::format("{} for {}: some share one", plural(given, "mask"),
                            plural(ranks_, "rank"))
              : fmt::format("{} for {}: local rank {} gets the leftover CPUs {}",
                            plural(given, "mask"), plural(ranks_, "rank"), given, left.to_list()));
    }
  }

  // Cuts the list of cells into pieces of `size`. The layout has put related cells side by side.
  std::vector<CpuSet> sized_domains() const {
    // The unit of a size: CPUs, or whole cores.
    std::vector<CpuSet> cells;
    if (request_.cell_core) {
      cells = objects_of(topology_, PinObject::kCore);
      if (request_.layout != PinLayout::kCompact) {
        // Whole cores are in the order of the topology, which is already compact.
        const bool scatter = request_.layout == PinLayout::kScatter;
        cells = arrange(topology_, cells, scatter ? PinOrder::kScatter : PinOrder::kRange,
                        cells.size());
      }
    } else {
      for (const int cpu : cpus_in_layout(topology_, request_.layout))
        cells.push_back(CpuSet({cpu}));
    }
    // count < 0 without OMP_NUM_THREADS: one domain with the whole node.
    std::size_t size = cells.size();
    // count as in PinRequest: a size, 0 for auto, -1 for omp.
    if (request_.count > 0) size = static_cast<std::size_t>(request_.count);
    if (request_.count == 0) size = std::max<std::size_t>(cells.size() / ranks_, 1);
    if (request_.count < 0 && threads_ > 0) size = static_cast<std::size_t>(threads_);
    std::vector<CpuSet> domains;
    for (std::size_t i = 0; i < cells.size(); i += size) {
      CpuSet domain;
      const std::size_t end = std::min(i + size, cells.size());
      const bool rest = end - i < size && !domains.empty();  // too few for a domain: unused
      for (std::size_t k = i; k < end; ++k) domain = domain | cells[k];
      if (!rest) domains.push_back(domain);
    }
    return domains;
  }

  // "2", "core", "half": the number of units in a grain or a shift.
  std::size_t units_in(const std::string& word, std::size_t otherwise, std::size_t all) const {
    if (word.empty()) return otherwise;
    if (word == "fine" || word == "core") return 1;
    if (word == "half") return std::max<std::size_t>(all / 2, 1);
    if (word == "third") return std::max<std::size_t>(all / 3, 1);
    if (word == "quarter") return std::max<std::size_t>(all / 4, 1);
    if (word == "octavo") return std::max<std::size_t>(all / 8, 1);
    if (const auto object = pin_object(word)) {
      return std::max<std::size_t>(
          all / std::max<std::size_t>(objects_of(topology_, *object).size(), 1), 1);
    }
    // Only numbers are left: check_grain() has rejected all other words.
    return static_cast<std::size_t>(parse_integer(word, 0, 1 << 20).value_or(0));
  }

  // Visits grains (groups of neighbours) `shift` apart; the offsets rotate the list before and
  // after.
  std::vector<CpuSet> round_robin(std::vector<CpuSet> units) const {
    const std::size_t all = units.size();
    const std::size_t grain = std::clamp<std::size_t>(units_in(request_.grain, 1, all), 1, all);
    const std::size_t shift = std::max<std::size_t>(units_in(request_.shift, 1, all), 1);
    const auto turn = [&](std::vector<CpuSet>& list, const std::string& word) {
      // Offsets count grains.
      const std::size_t by = units_in(word, 0, all) * grain % all;
      std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(by), list.end());
    };
    turn(units, request_.preoffset);
    const std::size_t grains = (all + grain - 1) / grain;
    std::vector<CpuSet> visited;
    // shift 2: grains 0, 2, 4 .. and then 1, 3, 5 ..
    for (std::size_t first = 0; first < std::min(shift, grains); ++first) {
      for (std::size_t g = first; g < grains; g += shift) {
        for (std::size_t i = g * grain; i < std::min((g + 1) * grain, all); ++i) {
          visited.push_back(units[i]);
        }
      }
    }
    turn(visited, request_.postoffset);
    return visited;
  }

  void take_processors() {
    std::vector<CpuSet> units = request_.masks;
    for (const CpuSet& unit : units) check_allowed(unit);
    if (units.empty()) units = listed_units();
    // No allowed CPU of that kind on the node: nothing to pin to.
    if (units.empty()) return domains_.of_rank.resize(ranks_);
    // Both :map= and the offsets give an order; a map wins.
    if (request_.order) {
      units = arrange(topology_, units, *request_.order, ranks_);
    } else if (!request_.grain.empty() || !request_.shift.empty() || !request_.preoffset.empty() ||
               !request_.postoffset.empty()) {
      units = round_robin(std::move(units));
    }
    for (std::size_t k = 0; k < ranks_; ++k) domains_.of_rank.push_back(units[k % units.size()]);
  }

  // all, allcores, allsocks: single CPUs; for the latter two, one per core or per socket.
  std::vector<CpuSet> listed_units() const {
    std::vector<CpuSet> units = objects_of(topology_, request_.object);
    for (CpuSet& unit : units) {
      if (!request_.cell_core) unit = CpuSet({unit.first()});
    }
    return units;
  }

  void take_user_list() {
    for (const CpuSet& mask : request_.masks) check_allowed(mask);
    domains_.of_rank = request_.masks;
    const std::size_t given = request_.masks.size();
    domains_.of_rank.resize(ranks_);
    if (given < ranks_) {
      domains_.warnings.push_back(fmt::format("{} for {}: local ranks from {} on are not pinned",
                                              plural(given, "CPU set"), plural(ranks_, "rank"),
                                              given));
    }
  }

  // Rank k goes to the k-th object of the map, wrapping around after the last. There it gets the
  // next `count` objects to bind to.
  void take_objects() {
    const std::vector<CpuSet> objects = objects_of(topology_, request_.object);
    const std::vector<CpuSet> places = mapped_places();
    const auto count = static_cast<std::size_t>(request_.count);
    if (places.empty()) return domains_.of_rank.resize(ranks_);
    for (std::size_t k = 0; k < ranks_; ++k) {
      const std::size_t per = static_cast<std::size_t>(std::max(request_.per_map, 1));
      const bool filling = request_.per_map > 0;
      // Filling (ppr): `per` ranks on a place before the next; otherwise one on each in turn.
      const std::size_t place = filling ? k / per % places.size() : k % places.size();
      const std::size_t turn = filling ? k % per : k / places.size();
      domains_.of_rank.push_back(bound_at(objects, places[place], turn * count, count));
    }
  }

  // Without a map, or if it names the same object, ranks take the objects in order.
  std::vector<CpuSet> mapped_places() const {
    const PinObject map = request_.map.value_or(request_.object);
    const std::vector<CpuSet> objects = objects_of(topology_, map);
    const bool same = map == request_.object && request_.per_map == 0;
    // Without a map a rank's objects must not overlap the next rank's, so step over all of them.
    const auto step =
        static_cast<std::size_t>(std::max(request_.map_step, same ? request_.count : 1));
    std::vector<CpuSet> places;
    for (std::size_t i = 0; i < objects.size(); i += step) {
      CpuSet place;
      for (std::size_t k = i; k < std::min(i + step, objects.size()); ++k)
        place = place | objects[k];
      // Fewer objects are left than a rank needs.
      if (same && step > 1 && i + step > objects.size() && !places.empty()) break;
      places.push_back(place);
    }
    return places;
  }

  CpuSet bound_at(const std::vector<CpuSet>& objects, const CpuSet& place, std::size_t first,
                  std::size_t count) const {
    std::vector<std::size_t> inside;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (!(objects[i] & place).empty()) inside.push_back(i);
    }
    CpuSet bound;
    for (std::size_t k = 0; k < std::min(count, inside.size()); ++k) {
      // More ranks than objects there: start again at the first.
      bound = bound | objects[inside[(first + k) % inside.size()]];
    }
    return bound;
  }

  const PinRequest& request_;
  const NodeTopology& topology_;
  std::size_t ranks_;
  int threads_;
  const std::string& host_;
  PinDomains domains_;
};

}  // namespace

PinDomains pin_domains(const PinRequest& request, const NodeTopology& topology, int local_size,
                       int threads, const std::string& host) {
  return Applied(request, topology, local_size, threads, host).make();
}

}  // namespace dtl
