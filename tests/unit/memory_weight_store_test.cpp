#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files/mapped_file.h"
#include "memory/content_hash.h"
#include "memory/domains/slab.h"
#include "memory/domains/weight_store.h"

namespace leat {
namespace {

Tensor make_tensor(float value) {
    return std::move(Tensor::from<float>({2}, std::vector<float>{value, value})).value();
}

void copy_floats(const Tensor& source, std::byte* packed) {
    std::memcpy(packed, source.bytes(), size_t(source.byte_count()));
}

TEST(WeightStore, SharesOneCopyPerSourceAndLayout) {
    WeightStore store;
    const Tensor source = make_tensor(3);
    auto first = store.get_or_pack(source, "rows", 64, copy_floats);
    auto again = store.get_or_pack(source, "rows", 64, copy_floats);
    auto other = store.get_or_pack(source, "columns", 128, copy_floats);
    ASSERT_TRUE(first.ok() && again.ok() && other.ok());
    EXPECT_EQ(first->get(), again->get());
    EXPECT_NE(first->get(), other->get());
    EXPECT_EQ(reinterpret_cast<const float*>(first->get())[1], 3);
    EXPECT_EQ(first->get()[63], std::byte{0});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first->get()) % 64, 0U);
    EXPECT_EQ(store.packed_bytes(), 192);
}

// Two tensors, and a third one with other elements.
TEST(WeightStore, SharesEqualElementsOfDifferentTensors) {
    WeightStore store;
    const Tensor one = make_tensor(3);
    const Tensor twin = make_tensor(3);
    const Tensor other = make_tensor(4);
    auto first = store.get_or_pack(one, "rows", 64, copy_floats).value();
    auto second = store.get_or_pack(twin, "rows", 64, copy_floats).value();
    auto third = store.get_or_pack(other, "rows", 64, copy_floats).value();
    EXPECT_EQ(first, second);
    EXPECT_NE(first, third);
    EXPECT_EQ(store.packed_bytes(), 128);
    // The same bytes as integers are something else: packing may convert.
    const Tensor integers = Tensor::view(DType::kInt32, {2}, one.bytes(), one.owner());
    EXPECT_NE(store.get_or_pack(integers, "rows", 64, copy_floats).value(), first);
    first.reset();
    EXPECT_EQ(store.get_or_pack(one, "rows", 64, copy_floats).value(), second);
}

TEST(WeightStore, SharesNothingWithElementsThatAreGone) {
    WeightStore store;
    auto source = std::make_unique<Tensor>(make_tensor(3));
    auto first = store.get_or_pack(*source, "rows", 64, copy_floats).value();
    source.reset();
    EXPECT_NE(store.get_or_pack(make_tensor(3), "rows", 64, copy_floats).value(), first);
}

// Blocks of the same slab are used again, and are zero again.
TEST(WeightStore, GivesRoomOfSmallEntriesAgain) {
    WeightStore store;
    const Tensor keep = make_tensor(1);
    auto held = store.get_or_pack(keep, "rows", 64, copy_floats).value();
    const auto fill = [](const Tensor&, std::byte* packed) { std::memset(packed, 7, 100'000); };
    const auto leave = [](const Tensor&, std::byte*) {};
    for (int i = 0; i < 100; ++i) {
        const Tensor source = make_tensor(float(i + 2));
        (void)store.get_or_pack(source, "rows", 100'000, fill).value();
        const auto clean = store.get_or_pack(source, "columns", 100'001, leave).value();
        EXPECT_TRUE(std::all_of(clean.get(), clean.get() + 100'001,
                                [](std::byte byte) { return byte == std::byte{0}; }));
    }
    EXPECT_EQ(store.slabs().size(), 1U);
    held.reset();
    EXPECT_TRUE(store.slabs().empty());
}

// The store's table is empty when nothing is left: a new source finds nothing of an old one.
TEST(WeightStore, KeepsNothingOfWhatIsGone) {
    WeightStore store;
    std::weak_ptr<const void> owner;
    {
        const Tensor source = make_tensor(1);
        const Tensor twin = make_tensor(1);
        owner = source.owner();
        auto first = store.get_or_pack(source, "rows", 64, copy_floats).value();
        auto second = store.get_or_pack(twin, "rows", 64, copy_floats).value();
    }
    EXPECT_TRUE(owner.expired());
    EXPECT_EQ(store.packed_bytes(), 0);
    EXPECT_TRUE(store.slabs().empty());
}

TEST(ContentHash, DependsOnEveryByteAndOnTheLength) {
    std::vector<std::byte> bytes(100, std::byte{0});
    std::set<uint64_t> seen{content_hash(bytes)};
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::byte{1};
        EXPECT_TRUE(seen.insert(content_hash(bytes)).second) << i;
        bytes[i] = std::byte{0};
    }
    for (size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_TRUE(seen.insert(content_hash(std::span(bytes).first(length))).second) << length;
    }
}

TEST(WeightStore, ForgetsAnEntryWithItsLastHolder) {
    WeightStore store;
    const Tensor source = make_tensor(1);
    int packs = 0;
    const auto count = [&](const Tensor&, std::byte*) { ++packs; };
    (void)store.get_or_pack(source, "rows", 64, count).value();
    EXPECT_EQ(store.packed_bytes(), 0);
    (void)store.get_or_pack(source, "rows", 64, count).value();
    EXPECT_EQ(packs, 2);
}

TEST(WeightStore, DoesNotMistakeNewMemoryAtAnOldAddress) {
    WeightStore store;
    float value = 1;
    auto owner = std::make_shared<int>(0);
    auto packed = store.get_or_pack(Tensor::view(DType::kFloat32, {1}, &value, owner), "rows", 64,
                                    copy_floats);
    value = 2;
    owner = std::make_shared<int>(0);
    auto fresh = store.get_or_pack(Tensor::view(DType::kFloat32, {1}, &value, owner), "rows", 64,
                                   copy_floats);
    EXPECT_EQ(*reinterpret_cast<const float*>(packed->get()), 1);
    EXPECT_EQ(*reinterpret_cast<const float*>(fresh->get()), 2);
}

TEST(WeightStore, EntryOutlivesTheStore) {
    std::shared_ptr<const std::byte> packed;
    {
        WeightStore store;
        packed = store.get_or_pack(make_tensor(5), "rows", 64, copy_floats).value();
    }
    EXPECT_EQ(*reinterpret_cast<const float*>(packed.get()), 5);
}

TEST(WeightStore, PacksOnceForConcurrentCallers) {
    WeightStore store;
    const Tensor source = make_tensor(1);
    std::atomic<int> packs{0};
    std::vector<std::shared_ptr<const std::byte>> results(4);
    std::vector<std::thread> threads;
    threads.reserve(results.size());
    for (auto& result : results) {
        threads.emplace_back([&] {
            result =
                store.get_or_pack(source, "rows", 64, [&](const Tensor&, std::byte*) { ++packs; })
                    .value();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(packs, 1);
    EXPECT_THAT(results, ::testing::Each(results[0]));
}

TEST(WeightStore, LargeEntriesStartAtAHugePage) {
    WeightStore store;
    auto packed = store.get_or_pack(make_tensor(1), "rows", Slab::kHugePageBytes, copy_floats);
    ASSERT_TRUE(packed.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(packed->get()) % uintptr_t(Slab::kHugePageBytes), 0U);
}

TEST(WeightStore, ReturnsOutOfMemory) {
    WeightStore store;
    auto packed = store.get_or_pack(make_tensor(1), "rows", int64_t{1} << 60, copy_floats);
    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(store.packed_bytes(), 0);
}

// Resident pages of this mapping, from mincore's point of view of this process: a file's pages stay
// in the page cache, so this counts mapped pages through /proc/self/pagemap's present bit.
int64_t present_pages(const void* address, int64_t pages) {
    std::vector<uint64_t> entries(static_cast<size_t>(pages));
    FILE* file = std::fopen("/proc/self/pagemap", "rb");
    if (file == nullptr) {
        return -1;
    }
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    const auto first = int64_t(reinterpret_cast<uintptr_t>(address)) / page;
    (void)std::fseek(file, first * 8, SEEK_SET);
    const size_t got = std::fread(entries.data(), 8, entries.size(), file);
    (void)std::fclose(file);
    int64_t present = 0;
    for (size_t i = 0; i < got; ++i) {
        present += int64_t(entries[i] >> 63);
    }
    return got == entries.size() ? present : -1;
}

TEST(WeightStore, GivesBackThePagesOfAMappedFile) {
    char path[] = "/tmp/leat_weight_store_XXXXXX";
    const int file = ::mkstemp(path);
    ASSERT_GE(file, 0);
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    const int64_t bytes = 64 * page;
    ASSERT_EQ(::ftruncate(file, bytes), 0);
    void* mapping = ::mmap(nullptr, size_t(bytes), PROT_READ, MAP_PRIVATE, file, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    ::close(file);
    ::unlink(path);
    std::shared_ptr<const void> owner(mapping, MappedFileDeleter{mapping, size_t(bytes)});
    const Tensor source = Tensor::view(DType::kUint8, {bytes}, mapping, owner);

    WeightStore store;
    int64_t during = 0;
    auto packed = store.get_or_pack(source, "rows", bytes, [&](const Tensor& from, std::byte* to) {
        copy_floats(from, to);
        during = present_pages(mapping, 64);
    });
    ASSERT_TRUE(packed.ok());
    if (during < 0) {
        GTEST_SKIP() << "no /proc/self/pagemap";
    }
    EXPECT_EQ(during, 64);
    EXPECT_EQ(present_pages(mapping, 64), 0);
}

// Forms of these values, packed as they are, in one domain. Nothing is placed on nodes.
struct ReadyForms {
    explicit ReadyForms(const std::vector<float>& values) {
        forms.reserve(values.size());
        for (const float value : values) {
            forms.push_back({make_tensor(value), "rows", 8});
            const Tensor& source = forms.back().source;
            ready.push_back(
                {&forms.back(), content_hash({source.bytes(), size_t(8)}), source.bytes()});
        }
    }
    std::vector<WeightForm> forms;
    std::vector<WeightStore::Ready> ready;
};

constexpr MemoryDomainId kDomain{0};

WeightStore store_of_one_domain() {
    std::vector<MemoryDomain> domains(1);
    domains.front().id = kDomain;
    return WeightStore(std::make_shared<MemoryDomains>(domains, MemoryDomainOptions()), {kDomain});
}

Status make_copies(const std::vector<Copy>& copies) {
    for (const Copy& copy : copies) {
        std::memcpy(copy.to, copy.from, size_t(copy.bytes));
    }
    return {};
}

void no_packing(const Tensor& /*source*/, std::byte* /*packed*/) {
    ADD_FAILURE() << "packed again";
}

TEST(WeightStore, CopiesTogetherWhatIsMissing) {
    WeightStore store = store_of_one_domain();
    const ReadyForms given({1, 2, 3});
    const auto second = store.get_or_pack(given.forms[1].source, "rows", 8, copy_floats).value();
    std::vector<const std::byte*> from;
    auto copied = store.copy_together(given.ready, kDomain, [&](const std::vector<Copy>& copies) {
        for (const Copy& copy : copies) {
            from.push_back(copy.from);
        }
        return make_copies(copies);
    });
    ASSERT_TRUE(copied.ok());
    EXPECT_THAT(from, ::testing::ElementsAre(given.ready[0].packed, given.ready[2].packed));
    ASSERT_EQ(copied->size(), 3U);
    EXPECT_EQ((*copied)[1], second);
    EXPECT_EQ(store.packed_bytes(), 24);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(std::memcmp((*copied)[i].get(), given.ready[i].packed, 8), 0) << i;
        EXPECT_EQ(store.get_or_pack(given.forms[i].source, "rows", 8, no_packing).value(),
                  (*copied)[i]);
    }
    copied->clear();
    EXPECT_EQ(store.packed_bytes(), 8);
}

// Twice the same elements: the second is what the first becomes.
TEST(WeightStore, CopiesEqualElementsOnce) {
    WeightStore store = store_of_one_domain();
    const ReadyForms given({1, 1});
    const auto copied = store.copy_together(given.ready, kDomain, make_copies).value();
    EXPECT_NE(copied[0], nullptr);
    EXPECT_EQ(copied[1], nullptr);
    EXPECT_EQ(store.get_or_pack(given.forms[1].source, "rows", 8, no_packing).value(), copied[0]);
}

// Somebody packs the first form while both are to be copied.
TEST(WeightStore, DoesNotCopyTogetherWhatAnotherCallerPacks) {
    WeightStore store = store_of_one_domain();
    const ReadyForms given({1, 2});
    std::vector<std::shared_ptr<const std::byte>> copied;
    const auto pack = [&](const Tensor& source, std::byte* packed) {
        std::thread other(
            [&] { copied = store.copy_together(given.ready, kDomain, make_copies).value(); });
        other.join();
        copy_floats(source, packed);
    };
    const auto first = store.get_or_pack(given.forms[0].source, "rows", 8, pack);
    ASSERT_TRUE(first.ok());
    ASSERT_EQ(copied.size(), 2U);
    EXPECT_EQ(copied[0], nullptr);
    EXPECT_NE(copied[1], nullptr);
}

TEST(WeightStore, CallersWaitForWhatIsCopiedTogether) {
    WeightStore store = store_of_one_domain();
    const ReadyForms given({1, 2});
    std::shared_ptr<const std::byte> waited_for;
    std::thread other;
    const auto copied =
        store
            .copy_together(
                given.ready, kDomain,
                [&](const std::vector<Copy>& copies) {
                    other = std::thread([&] {
                        waited_for =
                            store.get_or_pack(given.forms[1].source, "rows", 8, no_packing).value();
                    });
                    return make_copies(copies);
                })
            .value();
    other.join();
    EXPECT_EQ(waited_for, copied[1]);
}

TEST(WeightStore, KeepsNothingOfCopiesThatFail) {
    WeightStore store = store_of_one_domain();
    const ReadyForms given({1, 2, 2});
    const auto failed = store.copy_together(
        given.ready, kDomain, [](const std::vector<Copy>&) { return out_of_memory("no copies"); });
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(store.packed_bytes(), 0);
    EXPECT_THAT(store.slabs(), ::testing::IsEmpty());
    const auto packed = store.get_or_pack(given.forms[1].source, "rows", 8, copy_floats);
    ASSERT_TRUE(packed.ok());  // nobody waits for those that failed
    EXPECT_EQ(std::memcmp(packed->get(), given.ready[1].packed, 8), 0);
}

}  // namespace
}  // namespace leat
