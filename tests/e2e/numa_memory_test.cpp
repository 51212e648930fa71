// Slabs and packed weights on machines with several NUMA nodes: see numa_cells_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "leat/scheduler/topology.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/page_placement.h"
#include "memory/domains/slab.h"
#include "memory/domains/weight_store.h"
#include "numa_process.h"

namespace leat::numa_test {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<MemoryDomains> make_domains(bool is_strict = false) {
    const std::vector<scheduler::ComputeDomain> compute = scheduler::compute_domains();
    return std::make_shared<MemoryDomains>(
        make_memory_domains(scheduler::machine_topology(), compute),
        MemoryDomainOptions{.is_strict = is_strict});
}

// Not the library's way: pages by node in the lines of numa_maps that begin in the range.
std::map<int, int64_t> pages_by_node(const std::byte* begin, int64_t bytes) {
    std::map<int, int64_t> pages;
    std::ifstream file("/proc/self/numa_maps");
    for (std::string line; std::getline(file, line);) {
        char* rest = nullptr;
        const auto at = std::strtoull(line.c_str(), &rest, 16);
        const auto first = reinterpret_cast<uintptr_t>(begin);
        if (at < first || at >= first + uintptr_t(bytes)) {
            continue;
        }
        std::istringstream words(rest);
        for (std::string word; words >> word;) {
            if (word[0] == 'N' && word.find('=') != std::string::npos) {
                pages[std::atoi(word.c_str() + 1)] += std::atoll(word.c_str() + word.find('=') + 1);
            }
        }
    }
    return pages;
}

int64_t free_bytes(int node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
    for (std::string line; std::getline(file, line);) {
        const size_t at = line.find("MemFree:");
        if (at != std::string::npos) {
            return std::atoll(line.c_str() + at + 8) * 1024;
        }
    }
    return 0;
}

TEST(NumaSlab, ThatDoesNotFitGoesElsewhereAndIsCounted) {
    LEAT_ON_MACHINE("2");
    const std::shared_ptr<MemoryDomains> domains = make_domains();
    const int64_t bytes = free_bytes(0) / 5 * 6;
    ASSERT_LT(bytes, free_bytes(0) + free_bytes(1) / 2) << "the machine is too small for this";
    Result<Slab> slab = Slab::make(bytes, domains, {MemoryPolicy::kBind, {MemoryDomainId{0}}});
    ASSERT_TRUE(slab.ok());
    EXPECT_EQ(slab->effective_policy(), MemoryPolicy::kPrefer);
    slab->touch();
    NumaMaps maps;
    const PageCounts counts = count_pages(*slab, *domains, maps);
    EXPECT_EQ(counts.absent, 0);
    EXPECT_GT(counts.elsewhere, 0);
    const std::map<int, int64_t> parsed = pages_by_node(slab->data(), slab->mapped_bytes());
    EXPECT_EQ(counts.there, parsed.at(0));
    EXPECT_EQ(counts.elsewhere, parsed.at(1));
    EXPECT_TRUE(counts.is_confirmed);
}

TEST(NumaSlab, ThatDoesNotFitIsAnErrorWhereStrict) {
    LEAT_ON_MACHINE("2");
    const std::shared_ptr<MemoryDomains> domains = make_domains(true);
    const int64_t before = free_bytes(0);
    const int64_t bytes = before / 5 * 6;
    const Result<Slab> slab =
        Slab::make(bytes, domains, {MemoryPolicy::kBind, {MemoryDomainId{0}}});
    ASSERT_FALSE(slab.ok());
    EXPECT_THAT(slab.error().message(), HasSubstr("memory domain 0 (node 0)"));
    EXPECT_NEAR(double(free_bytes(0)), double(before), 16 << 20);  // nothing was touched
}

void fill(const Tensor& source, std::byte* packed) {
    std::copy_n(source.bytes(), source.byte_count(), packed);
}

constexpr int64_t kWeightBytes = (int64_t{8} << 20) + int64_t{4096} * 3;

class NumaWeights : public ::testing::Test {
  protected:
    void SetUp() override {
        domains_ = make_domains();
        for (const MemoryDomain& domain : domains_->list()) {
            if (!domain.cpus.empty()) {
                readers_.push_back(domain.id);
            }
        }
        store_ = WeightStore(domains_, readers_);
        const std::vector<float> elements(size_t(kWeightBytes) / sizeof(float), 1.5F);
        source_ = *Tensor::from<float>({int64_t(elements.size())}, elements);
    }
    std::map<int, int64_t> nodes_of(const std::shared_ptr<const std::byte>& copy) const {
        return pages_by_node(copy.get(), kWeightBytes);
    }

    std::shared_ptr<MemoryDomains> domains_;
    std::vector<MemoryDomainId> readers_;
    WeightStore store_;
    Tensor source_;
};

TEST_F(NumaWeights, ReplicatedAreAWholeCopyOnEveryNode) {
    std::vector<std::shared_ptr<const std::byte>> copies;
    copies.reserve(readers_.size());
    for (const MemoryDomainId reader : readers_) {
        copies.push_back(*store_.get_or_pack(source_, "rows", kWeightBytes, fill, {reader}));
    }
    for (size_t i = 0; i < copies.size(); ++i) {
        const std::map<int, int64_t> expected{
            {domains_->at(readers_[i]).os_node, kWeightBytes / page_bytes()}};
        EXPECT_EQ(nodes_of(copies[i]), expected);
        EXPECT_EQ(reinterpret_cast<const float*>(copies[i].get())[1000], 1.5F);
    }
    EXPECT_EQ(store_.packed_bytes(), kWeightBytes * int64_t(copies.size()));
}

// To a huge page.
TEST_F(NumaWeights, InterleavedAreAnEqualShareOnEveryNode) {
    const auto copy = *store_.get_or_pack(source_, "rows", kWeightBytes, fill);
    const std::map<int, int64_t> nodes = nodes_of(copy);
    const int64_t share = kWeightBytes / page_bytes() / int64_t(readers_.size());
    int64_t all = 0;
    for (const MemoryDomainId reader : readers_) {
        const int64_t pages = nodes.at(domains_->at(reader).os_node);
        EXPECT_NEAR(double(pages), double(share), 512);
        all += pages;
    }
    EXPECT_EQ(all, kWeightBytes / page_bytes());
}

// Half of the readers and one more are on the last node.
TEST_F(NumaWeights, DividedAreWithTheReaderOfEachPart) {
    std::vector<MemoryDomainId> threads = readers_;
    threads.resize(2 * readers_.size(), readers_.back());
    WeightStore store(domains_, threads, true);
    const auto copy = *store.get_or_pack(source_, "rows", kWeightBytes, fill,
                                         store.default_target(), WeightReads::kInTileOrder);
    const int64_t pages = kWeightBytes / page_bytes();
    const int64_t share = pages / int64_t(threads.size());
    const std::map<int, int64_t> nodes = nodes_of(copy);
    ASSERT_EQ(nodes.size(), readers_.size());
    for (const MemoryDomainId reader : readers_) {
        const bool is_last = reader == readers_.back();
        const int64_t others = share * (int64_t(readers_.size()) - 1);
        EXPECT_NEAR(double(nodes.at(domains_->at(reader).os_node)),
                    double(is_last ? pages - others : share), 3);
    }
    EXPECT_EQ(std::memcmp(copy.get(), source_.bytes(), size_t(kWeightBytes)), 0);
    NumaMaps maps;
    for (const std::shared_ptr<const Slab>& slab : store.slabs()) {
        const PageCounts counts = count_pages(*slab, *domains_, maps);
        EXPECT_TRUE(counts.is_confirmed);
        EXPECT_EQ(counts.there, counts.wanted);
    }
    // What is read as a whole takes turns.
    const auto whole = *store.get_or_pack(source_, "rows", kWeightBytes, fill);
    EXPECT_NE(whole.get(), copy.get());
}

TEST_F(NumaWeights, AtHomeAreOnTheOwnersNode) {
    for (const MemoryDomain& domain : domains_->list()) {
        const auto copy = *store_.get_or_pack(source_, "home", kWeightBytes, fill, {domain.id});
        const std::map<int, int64_t> expected{{domain.os_node, kWeightBytes / page_bytes()}};
        EXPECT_EQ(nodes_of(copy), expected);
    }
}

// Resident pages are what the blocks need, rounded to pages of each slab.
TEST_F(NumaWeights, TakeTheirPagesAndNoMore) {
    std::vector<std::shared_ptr<const std::byte>> held;
    int64_t small_bytes = 0;
    for (int i = 0; i < 64; ++i) {
        const std::vector<float> elements(1000 + size_t(i), float(i));
        const Tensor source = *Tensor::from<float>({int64_t(elements.size())}, elements);
        held.push_back(
            *store_.get_or_pack(source, "rows", source.byte_count(), fill, {readers_.back()}));
        small_bytes += (source.byte_count() + 63) / 64 * 64;
    }
    int64_t resident = 0;
    NumaMaps maps;
    for (const std::shared_ptr<const Slab>& slab : store_.slabs()) {
        const PageCounts counts = count_pages(*slab, *domains_, maps);
        EXPECT_TRUE(counts.is_confirmed);
        EXPECT_EQ(counts.elsewhere, 0);
        resident += counts.there;
    }
    EXPECT_EQ(resident, (small_bytes + page_bytes() - 1) / page_bytes());
}

}  // namespace
}  // namespace leat::numa_test
