#include "memory/weight_policy/weight_policy.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "memory/weight_policy/weight_options.h"
#include "memory/weight_policy/weight_search.h"

namespace leat {
namespace {

// Reads of a byte by all readers in a run.
double heat(const WeightUse& use) {
    double shares = 0;
    for (const WeightReader& reader : use.readers) {
        shares += reader.share;
    }
    return use.reads_per_run * shares;
}

void check_use(const WeightMachine& machine, const WeightUse& use) {
    LEAT_CHECK(use.bytes >= 0 && use.reads_per_run >= 0, "{} bytes are read {} times", use.bytes,
               use.reads_per_run);
    for (const WeightReader& reader : use.readers) {
        LEAT_CHECK(size_t(reader.domain) < machine.domains.size(), "reader {} of {} domains",
                   int(reader.domain), machine.domains.size());
        LEAT_CHECK(reader.share > 0 && reader.share <= 1, "a reader's share is {}", reader.share);
    }
}

bool comes_before(const WeightUse& a, const WeightUse& b) {
    const auto key = [](const WeightUse& use) {
        return std::tuple(-heat(use), use.bytes, use.reads_per_run, use.is_dividable,
                          use.readers.size());
    };
    if (key(a) != key(b)) {
        return key(a) < key(b);
    }
    return std::lexicographical_compare(
        a.readers.begin(), a.readers.end(), b.readers.begin(), b.readers.end(),
        [](const WeightReader& x, const WeightReader& y) {
            return std::tuple(int(x.domain), x.share) < std::tuple(int(y.domain), y.share);
        });
}

}  // namespace

WeightPolicies choose_weight_policies(const WeightMachine& machine,
                                      std::span<const WeightUse> uses) {
    LEAT_CHECK(machine.size() > 0, "weights need a domain");
    // In an order of their own, so that the answer does not depend on the caller's.
    std::vector<int> order(uses.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return comes_before(uses[size_t(a)], uses[size_t(b)]); });
    std::vector<WeightUse> sorted;
    sorted.reserve(uses.size());
    int64_t most_bytes = 0;  // that could be taken of a domain
    for (const int use : order) {
        check_use(machine, uses[size_t(use)]);
        sorted.push_back(uses[size_t(use)]);
        most_bytes += uses[size_t(use)].bytes;
    }
    std::vector<int64_t> budgets;
    budgets.reserve(machine.domains.size());
    for (const WeightMachine::Domain& domain : machine.domains) {
        budgets.push_back(std::clamp<int64_t>(domain.budget_bytes, 0, most_bytes));
    }
    const WeightOptions options(machine, sorted);
    WeightSearch search(options, budgets);
    search.run();

    WeightPolicies result;
    result.decisions.resize(uses.size());
    for (size_t i = 0; i < order.size(); ++i) {
        result.decisions[size_t(order[i])] =
            options.at(int(i), search.assignment().at(int(i))).decision;
    }
    // Added up anew: moves back and forth leave rounding errors.
    WeightAssignment chosen(options, budgets);
    chosen.choose_all(search.assignment().chosen());
    result.fits = chosen.overflow_bytes() == 0;
    result.read_ns = chosen.cost().read_ns;
    result.alone_ns = chosen.cost().alone_ns;
    result.taken_bytes.assign(chosen.taken_bytes().begin(), chosen.taken_bytes().end());
    result.steps = search.steps();
    return result;
}

}  // namespace leat
