#include "memory/weight_policy/weight_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace leat {
namespace {

int64_t part_bytes(int64_t bytes, double share) {
    return std::min(bytes, int64_t(std::ceil(double(bytes) * share)));
}

}  // namespace

WeightOptions::WeightOptions(const WeightMachine& machine, std::span<const WeightUse> uses)
    : domains_(machine.size()),
      resources_(2 * machine.size() + int(machine.links_bytes_per_ns.size())),
      loads_now_(size_t(resources_)),
      least_ns_(machine.domains.size()) {
    first_option_.reserve(uses.size() + 1);
    options_.reserve(uses.size() * (machine.domains.size() + 3));
    first_option_.push_back(0);
    for (const WeightUse& use : uses) {
        add_options(machine, use);
        first_option_.push_back(int32_t(options_.size()));
        add_to_bound();
    }
    for (const double ns : least_ns_) {
        bound_ns_ = std::max(bound_ns_, ns);
    }
}

// The order decides between equals: what spreads reads goes before what does not.
void WeightOptions::add_options(const WeightMachine& machine, const WeightUse& use) {
    const bool is_shared = use.readers.size() > 1;
    const auto local_option = [&](WeightPolicy policy) {
        begin({policy, {}});
        for (const WeightReader& reader : use.readers) {
            const double share = policy == WeightPolicy::kPartition ? reader.share : 1;
            take(int(reader.domain), part_bytes(use.bytes, share));
            read(machine, use, reader, int(reader.domain), 1);
        }
        end();
    };
    if (is_shared && use.is_dividable) {
        local_option(WeightPolicy::kPartition);
    }
    if (is_shared) {
        local_option(WeightPolicy::kReplicate);
        begin({WeightPolicy::kInterleave, {}});
        const double fraction = 1 / double(use.readers.size());
        for (const WeightReader& memory : use.readers) {
            take(int(memory.domain), part_bytes(use.bytes, fraction));
            for (const WeightReader& reader : use.readers) {
                read(machine, use, reader, int(memory.domain), fraction);
            }
        }
        end();
    }
    for (int home = 0; home < domains_; ++home) {
        begin({WeightPolicy::kHome, MemoryDomainId(home)});
        take(home, use.bytes);
        for (const WeightReader& reader : use.readers) {
            read(machine, use, reader, home, 1);
        }
        end();
    }
}

void WeightOptions::begin(WeightDecision decision) {
    Option& option = options_.emplace_back();
    option.decision = decision;
    option.first_take = int32_t(takes_.size());
    option.first_load = int32_t(loads_.size());
}

void WeightOptions::take(int domain, int64_t bytes) {
    takes_.push_back({domain, bytes});
    options_.back().bytes += bytes;
}

// `fraction` of what the reader reads comes from this memory.
void WeightOptions::read(const WeightMachine& machine,
                         const WeightUse& use,
                         const WeightReader& reader,
                         int memory,
                         double fraction) {
    const WeightPath& path = machine.path(int(reader.domain), memory);
    const double bytes = use.reads_per_run * double(use.bytes) * reader.share * fraction;
    loads_now_[size_t(reader.domain)] +=
        use.reads_per_run * fraction * path.latency_ns + bytes / path.bytes_per_ns;
    loads_now_[size_t(domains_) + size_t(memory)] +=
        bytes / machine.domains[size_t(memory)].bytes_per_ns;
    if (path.link >= 0) {
        loads_now_[size_t(domains_) * 2 + size_t(path.link)] +=
            bytes / machine.links_bytes_per_ns[size_t(path.link)];
    }
}

void WeightOptions::end() {
    for (int resource = 0; resource < resources_; ++resource) {
        double& ns = loads_now_[size_t(resource)];
        if (ns > 0) {
            loads_.push_back({resource, ns});
            options_.back().alone_ns = std::max(options_.back().alone_ns, ns);
        }
        ns = 0;
    }
    options_.back().past_take = int32_t(takes_.size());
    options_.back().past_load = int32_t(loads_.size());
}

// Of the use whose options are the last ones.
void WeightOptions::add_to_bound() {
    const size_t use = first_option_.size() - 2;
    std::vector<double> least(least_ns_.size(), std::numeric_limits<double>::infinity());
    for (int32_t at = first_option_[use]; at < first_option_[use + 1]; ++at) {
        for (const Load& load : loads(options_[size_t(at)])) {
            if (load.resource >= domains_) {
                break;
            }
            double& ns = least[size_t(load.resource)];
            ns = std::min(ns, load.ns);
        }
    }
    for (size_t reader = 0; reader < least.size(); ++reader) {
        least_ns_[reader] += std::isinf(least[reader]) ? 0 : least[reader];
    }
}

}  // namespace leat
