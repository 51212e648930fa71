// Copies of packed constants to two domains, which are the same node of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/backend.h"
#include "compile/mapped_copies.h"
#include "leat/leat.h"
#include "leat/scheduler/machine_topology.h"
#include "leat/scheduler/topology.h"
#include "memory/content_hash.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::random_tensor;

constexpr int64_t kMib = int64_t{1} << 20;

std::shared_ptr<Runtime::Impl> two_groups(MemoryDomainOptions options, int threads = 1) {
    const std::vector<MemoryDomain> of_machine =
        make_memory_domains(scheduler::machine_topology(), scheduler::compute_domains());
    std::vector<MemoryDomain> domains(2);
    auto runtime = std::make_shared<Runtime::Impl>();
    for (int domain = 0; domain < 2; ++domain) {
        domains[size_t(domain)].id = MemoryDomainId{domain};
        domains[size_t(domain)].os_node = of_machine.empty() ? 0 : of_machine.front().os_node;
        domains[size_t(domain)].cpus = scheduler::affinity_cpus();
        ThreadGroup& group = runtime->groups.emplace_back();
        group.executor =
            std::make_unique<scheduler::Executor>(scheduler::ExecutorOptions{.threads = threads});
        group.worker_homes = {MemoryDomainId{domain}};
        group.home = MemoryDomainId{domain};
        group.cpus = domains[size_t(domain)].cpus;
    }
    runtime->domains = std::make_shared<MemoryDomains>(domains, std::move(options));
    runtime->weights = WeightStore(runtime->domains, {MemoryDomainId{0}, MemoryDomainId{1}});
    return runtime;
}

// Constants of these sizes, packed as they are, in what stands for a file.
struct Packed {
    Packed(std::shared_ptr<Runtime::Impl> runtime, const std::vector<int64_t>& sizes_bytes)
        : compiled(std::move(runtime), Graph("constants")) {
        compiled.placed.host = builtin_backends().front();
        auto weights = std::make_shared<MappedWeights>(nullptr);
        for (const int64_t bytes : sizes_bytes) {
            const Tensor tensor =
                random_tensor({bytes / int64_t{sizeof(float)}}, uint32_t(forms.size()) + 1);
            const std::span elements(tensor.bytes(), size_t(bytes));
            weights->add_hash(tensor, content_hash(elements));
            weights->add(tensor, "rows", bytes, tensor.bytes());
            forms.push_back({tensor, "rows", bytes});
        }
        compiled.mapped = std::move(weights);
    }
    Result<HeldWeights> copy(std::vector<int> groups = {0, 1}) const {
        return copy_mapped_weights(compiled, groups, forms);
    }

    CompiledGraph::Impl compiled;
    std::vector<WeightForm> forms;
};

// Of all sizes: below a page, with a slab of its own, and above a huge page.
std::vector<int64_t> sizes() {
    return {100, 3 * kMib + 4, 64 << 10, 300 << 10, 4, kMib};
}

bool is_copy(const std::shared_ptr<const std::byte>& copy, const WeightForm& form) {
    return copy.get() != form.source.bytes() &&
           std::memcmp(copy.get(), form.source.bytes(), size_t(form.bytes)) == 0;
}

TEST(MappedCopies, AreTheElementsOnceInEachDomain) {
    const Packed packed(two_groups({}), sizes());
    const Result<HeldWeights> held = packed.copy();
    ASSERT_TRUE(held.ok()) << held.error().message();
    ASSERT_THAT(*held, SizeIs(2 * packed.forms.size()));
    int64_t bytes = 0;
    for (size_t i = 0; i < held->size(); ++i) {
        const WeightForm& form = packed.forms[i % packed.forms.size()];
        EXPECT_TRUE(is_copy((*held)[i], form)) << i;
        bytes += form.bytes;
    }
    EXPECT_EQ(packed.compiled.runtime->weights.packed_bytes(), bytes);
}

// Huge pages are filled by whichever thread comes first.
TEST(MappedCopies, AreMadeByAllThreadsOfAGroup) {
    std::vector<int64_t> many = sizes();
    many.insert(many.end(), {9 * kMib, 12, 2 * kMib, 5 * kMib + 64, 700 << 10});
    const Packed packed(two_groups({}, 3), many);
    for (int round = 0; round < 20; ++round) {
        const Result<HeldWeights> held = packed.copy();
        ASSERT_TRUE(held.ok()) << held.error().message();
        ASSERT_THAT(*held, SizeIs(2 * many.size()));
        for (size_t i = 0; i < held->size(); ++i) {
            EXPECT_TRUE(is_copy((*held)[i], packed.forms[i % many.size()])) << round << ' ' << i;
        }
    }
}

// Where constants go by themselves: each group makes those of its own domain, the first one those
// that both read in the first.
TEST(MappedCopies, GoWhereTheirConstantsGo) {
    const auto runtime = two_groups({});
    Packed packed(runtime, sizes());
    const WeightTargets others = {{packed.forms[1].source.bytes(), {MemoryDomainId{0}}}};
    packed.compiled.weight_targets = {{}, others};
    const Result<HeldWeights> held = packed.copy();
    ASSERT_TRUE(held.ok()) << held.error().message();
    ASSERT_THAT(*held, SizeIs(2 * packed.forms.size()));
    for (size_t i = 0; i < packed.forms.size(); ++i) {
        const auto& second = (*held)[packed.forms.size() + i];
        EXPECT_TRUE(is_copy(second, packed.forms[i])) << i;
        EXPECT_EQ((*held)[i] == second, i == 1) << i;
    }
}

// One mapping and one order to the kernel for all constants of a domain.
TEST(MappedCopies, OfADomainLieInOneSlab) {
    const Packed packed(two_groups({}), sizes());
    const Result<HeldWeights> held = packed.copy();
    ASSERT_TRUE(held.ok());
    std::vector<MemoryDomainId> domains;
    for (const std::shared_ptr<const Slab>& slab : packed.compiled.runtime->weights.slabs()) {
        ASSERT_THAT(slab->placement().domains, SizeIs(1));
        domains.push_back(slab->placement().domains.front());
    }
    EXPECT_THAT(domains, ::testing::UnorderedElementsAre(MemoryDomainId{0}, MemoryDomainId{1}));
}

TEST(MappedCopies, GiveAllBackWithTheLastHolder) {
    const Packed packed(two_groups({.limit_bytes = 16 * kMib}), sizes());
    const MemoryDomains& domains = *packed.compiled.runtime->domains;
    {
        const Result<HeldWeights> held = packed.copy();
        ASSERT_TRUE(held.ok());
        EXPECT_LT(domains.budget(MemoryDomainId{1}).bytes, 12 * kMib);
    }
    EXPECT_THAT(packed.compiled.runtime->weights.slabs(), IsEmpty());
    EXPECT_EQ(domains.budget(MemoryDomainId{0}).bytes, 16 * kMib);
    EXPECT_EQ(domains.budget(MemoryDomainId{1}).bytes, 16 * kMib);
}

// Copies that there are already are shared; only what is new gets memory.
TEST(MappedCopies, TakeNoMemoryForCopiesThatThereAre) {
    const auto runtime = two_groups({.limit_bytes = 16 * kMib});
    const Packed first(runtime, sizes());
    const Result<HeldWeights> held = first.copy();
    ASSERT_TRUE(held.ok());
    std::vector<int64_t> more = sizes();
    more.push_back(2 * kMib);
    const Packed second(runtime, more);
    const int64_t before = runtime->domains->budget(MemoryDomainId{1}).bytes;
    const Result<HeldWeights> again = second.copy({1});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(before - runtime->domains->budget(MemoryDomainId{1}).bytes, 2 * kMib);
    for (size_t i = 0; i < first.forms.size(); ++i) {
        EXPECT_EQ((*again)[i], (*held)[first.forms.size() + i]) << i;
    }
}

// Room for some of them: these are bound, the others preferred, and one sentence says so.
TEST(MappedCopies, BeyondTheLimitAreMadeOneByOne) {
    const Packed packed(two_groups({.limit_bytes = 2 * kMib}), sizes());
    const Result<HeldWeights> held = packed.copy();
    ASSERT_TRUE(held.ok()) << held.error().message();
    for (size_t i = 0; i < held->size(); ++i) {
        EXPECT_TRUE(is_copy((*held)[i], packed.forms[i % packed.forms.size()])) << i;
    }
    int64_t within_limit = 0;
    for (const std::shared_ptr<const Slab>& slab : packed.compiled.runtime->weights.slabs()) {
        within_limit += int64_t(slab->effective_policy() != MemoryPolicy::kPrefer);
    }
    EXPECT_GT(within_limit, 0);
}

TEST(MappedCopies, BeyondAStrictLimitAreAnError) {
    const Packed packed(two_groups({.limit_bytes = 2 * kMib, .is_strict = true}), sizes());
    const Result<HeldWeights> held = packed.copy();
    ASSERT_FALSE(held.ok());
    EXPECT_EQ(held.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(packed.compiled.runtime->weights.slabs(), IsEmpty());
}

}  // namespace
}  // namespace leat
