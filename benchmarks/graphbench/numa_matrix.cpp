#include "numa_matrix.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/split_mix.h"
#include "leat/scheduler/thread_binding.h"
#include "leat/scheduler/topology.h"
#include "machine.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/page_placement.h"
#include "memory/domains/slab.h"

namespace leat::bench {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int kRounds = 3;  // the best counts
constexpr int64_t kLeastReadNs = 50'000'000;
constexpr int64_t kChaseSteps = 1 << 20;

// Results of reading go here, so that it is not optimised away.
std::atomic<uint64_t> sink{0};

uint64_t sum_of(const std::byte* begin, int64_t bytes) {
    constexpr int64_t kWords = 8;
    std::array<uint64_t, kWords> sums{};
    const auto* words = reinterpret_cast<const uint64_t*>(begin);
    for (int64_t i = 0; i + kWords <= bytes / int64_t{sizeof(uint64_t)}; i += kWords) {
        for (int64_t k = 0; k < kWords; ++k) {
            sums[size_t(k)] += words[i + k];
        }
    }
    return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

// One thread bound to `cpu`, reading `memory` again and again.
struct Reader {
    int cpu = 0;
    std::span<const std::byte> memory;
};

// Bytes that all readers together read in a second, begun at once.
double bytes_per_s(const std::vector<Reader>& readers) {
    std::atomic<int> waiting{int(readers.size())};
    std::atomic<bool> is_over{false};
    std::atomic<int64_t> bytes{0};
    std::atomic<int64_t> longest_ns{0};
    std::vector<std::thread> threads;
    threads.reserve(readers.size());
    for (const Reader& reader : readers) {
        const auto read = [&, reader] {
            scheduler::ThreadBinding binding({&reader.cpu, 1});
            (void)binding.bind();
            waiting.fetch_sub(1);
            while (waiting.load() > 0) {
                std::this_thread::yield();
            }
            const int64_t begin = now_ns();
            int64_t own_bytes = 0;
            int64_t own_ns = 0;
            // All go on until the slowest has read enough.
            do {
                sink.fetch_add(sum_of(reader.memory.data(), int64_t(reader.memory.size())));
                own_bytes += int64_t(reader.memory.size());
                own_ns = now_ns() - begin;
            } while (own_ns < kLeastReadNs && !is_over.load());
            is_over.store(true);
            bytes.fetch_add(own_bytes);
            int64_t longest = longest_ns.load();
            while (longest < own_ns && !longest_ns.compare_exchange_weak(longest, own_ns)) {
            }
        };
        try {
            threads.emplace_back(read);
        } catch (const std::exception&) {  // the others do not wait for it
            waiting.fetch_sub(1);
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return double(bytes.load()) * 1e9 / double(std::max<int64_t>(longest_ns.load(), 1));
}

double best_gb_per_s(const std::vector<Reader>& readers) {
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        best = std::max(best, bytes_per_s(readers) * 1e-9);
    }
    return best;
}

// One cycle through all lines in random order (Sattolo, 1986): each line begins with the number of
// the next one.
void make_chain(const Slab& slab) {
    const int64_t lines = slab.size_bytes() / kLineBytes;
    std::vector<uint32_t> order(static_cast<size_t>(lines));
    std::iota(order.begin(), order.end(), 0U);
    SplitMix random(1);
    for (int64_t i = lines - 1; i > 0; --i) {
        std::swap(order[size_t(i)], order[size_t(random.below(int32_t(i)))]);
    }
    for (int64_t i = 0; i < lines; ++i) {
        const uint32_t next = order[size_t((i + 1) % lines)];
        *reinterpret_cast<uint64_t*>(slab.data() + int64_t{order[size_t(i)]} * kLineBytes) = next;
    }
}

double latency_ns(int cpu, const Slab& slab) {
    scheduler::ThreadBinding binding({&cpu, 1});
    (void)binding.bind();
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        uint64_t line = 0;
        const int64_t begin = now_ns();
        for (int64_t step = 0; step < kChaseSteps; ++step) {
            line = *reinterpret_cast<const uint64_t*>(slab.data() + line * kLineBytes);
        }
        const double ns = double(now_ns() - begin) / double(kChaseSteps);
        sink.fetch_add(line);
        best = round == 0 ? ns : std::min(best, ns);
    }
    return best;
}

std::vector<Reader> readers_on(const MemoryDomain& domain, const Slab& slab) {
    std::vector<Reader> readers;
    readers.reserve(domain.cpus.size());
    for (const int cpu : domain.cpus) {
        readers.push_back({cpu, {slab.data(), size_t(slab.size_bytes())}});
    }
    return readers;
}

Result<Slab> make_slab(const std::shared_ptr<MemoryDomains>& domains,
                       int64_t bytes,
                       SlabPlacement placement) {
    LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(bytes, domains, std::move(placement)));
    slab.touch();
    return slab;
}

Status measure_pairs(const std::shared_ptr<MemoryDomains>& domains, NumaMatrix& matrix) {
    for (const MemoryDomain& memory : domains->list()) {
        LEAT_ASSIGN_OR_RETURN(
            Slab slab, make_slab(domains, matrix.buffer_bytes, {MemoryPolicy::kBind, {memory.id}}));
        make_chain(slab);
        NumaMaps maps;
        const PageCounts counts = count_pages(slab, *domains, maps);
        for (const MemoryDomain& reader : domains->list()) {
            if (reader.cpus.empty()) {
                continue;
            }
            NumaPair& pair = matrix.pairs.emplace_back();
            pair.reader_node = reader.os_node;
            pair.memory_node = memory.os_node;
            pair.policy = name_of(slab.effective_policy());
            pair.there_share = double(counts.there) / double(std::max<int64_t>(counts.wanted, 1));
            const std::vector<Reader> all = readers_on(reader, slab);
            pair.thread_gb_per_s = best_gb_per_s({all.front()});
            pair.node_gb_per_s = best_gb_per_s(all);
            pair.latency_ns = latency_ns(reader.cpus.front(), slab);
        }
    }
    return {};
}

// `copies` of so many bytes are read by the domains in turn: one for all, or one for each.
Status measure_weights(const std::shared_ptr<MemoryDomains>& domains,
                       const char* name,
                       const std::vector<SlabPlacement>& copies,
                       int64_t bytes,
                       NumaMatrix& matrix) {
    std::vector<Slab> slabs;
    for (const SlabPlacement& placement : copies) {
        LEAT_ASSIGN_OR_RETURN(Slab slab, make_slab(domains, bytes, placement));
        slabs.push_back(std::move(slab));
    }
    std::vector<Reader> readers;
    size_t next = 0;
    for (const MemoryDomain& domain : domains->list()) {
        if (!domain.cpus.empty()) {
            const std::vector<Reader> some = readers_on(domain, slabs[next++ % slabs.size()]);
            readers.insert(readers.end(), some.begin(), some.end());
        }
    }
    matrix.weights.push_back(
        {name, best_gb_per_s(readers), int64_t(slabs.size()) * slabs.front().mapped_bytes()});
    return {};
}

}  // namespace

Result<NumaMatrix> measure_numa_matrix(int64_t buffer_bytes) {
    const std::vector<scheduler::ComputeDomain> compute = scheduler::compute_domains();
    const auto domains = std::make_shared<MemoryDomains>(
        make_memory_domains(scheduler::machine_topology(), compute), MemoryDomainOptions{});
    if (domains->list().empty()) {
        return unsupported("the memory nodes of this machine are not known");
    }
    NumaMatrix matrix;
    matrix.buffer_bytes = buffer_bytes;
    LEAT_RETURN_IF_ERROR(measure_pairs(domains, matrix));
    std::vector<MemoryDomainId> readers;
    std::vector<SlabPlacement> replicas;
    for (const MemoryDomain& domain : domains->list()) {
        if (!domain.cpus.empty()) {
            readers.push_back(domain.id);
            replicas.push_back({MemoryPolicy::kBind, {domain.id}});
        }
    }
    LEAT_RETURN_IF_ERROR(
        measure_weights(domains, "home", {replicas.front()}, buffer_bytes, matrix));
    LEAT_RETURN_IF_ERROR(measure_weights(
        domains, "interleave", {{MemoryPolicy::kInterleave, readers}}, buffer_bytes, matrix));
    LEAT_RETURN_IF_ERROR(measure_weights(domains, "replicate", replicas, buffer_bytes, matrix));
    const int64_t part_bytes = std::max(buffer_bytes / int64_t(replicas.size()), kLineBytes);
    LEAT_RETURN_IF_ERROR(measure_weights(domains, "partition", replicas, part_bytes, matrix));
    return matrix;
}

}  // namespace leat::bench
