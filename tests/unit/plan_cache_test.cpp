// PlanCache: which plans are held, beside a plain list of them, and how it finds them.
#include "plan/plan_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/split_mix.h"

namespace leat {
namespace {

using PlanPtr = PlanCache::PlanPtr;

PlanKey key_of(int64_t rows, int group = 0) {
    return {group, {Shape{rows, 16}}, {}};
}

// One of about 512 bytes for each kernel, that needs `arena_bytes` of a request.
PlanPtr plan_of(const PlanKey& key, size_t kernels, int64_t arena_bytes = 0) {
    auto plan = std::make_shared<Plan>();
    plan->key = key;
    plan->work.kernels.resize(kernels);
    plan->work.scratch_bytes = arena_bytes / 2;
    plan->memory.layout.plan.height_bytes = arena_bytes;
    return plan;
}

// The rule of the cache, by a walk over all plans each time: those used last that fit, and always
// the last one.
class PlainList {
  public:
    explicit PlainList(int64_t most_bytes) : most_bytes_(most_bytes) {}

    PlanPtr find(const PlanKey& key) const {
        for (const PlanPtr& plan : plans_) {
            if (plan->key == key) {
                return plan;
            }
        }
        return nullptr;
    }
    PlanPtr newest(int group) const {
        for (const PlanPtr& plan : plans_) {
            if (plan->key.group == group) {
                return plan;
            }
        }
        return nullptr;
    }
    int64_t arena_bytes(int group) const {
        int64_t bytes = 0;
        for (const PlanPtr& plan : plans_) {
            bytes = plan->key.group == group ? std::max(bytes, plan->arena_bytes()) : bytes;
        }
        return bytes;
    }
    void use(const PlanPtr& used) {
        const auto at = std::find(plans_.begin(), plans_.end(), used);
        if (at != plans_.end()) {
            plans_.erase(at);
            again_.insert(used);
        }
        plans_.insert(plans_.begin(), used);
        while (bytes_of(false) + bytes_of(true) > most_bytes_ && plans_.size() > 1) {
            drop_one();
        }
    }
    const std::vector<PlanPtr>& plans() const { return plans_; }

  private:
    int64_t bytes_of(bool is_again) const {
        int64_t bytes = 0;
        for (const PlanPtr& plan : plans_) {
            bytes += (again_.count(plan) > 0) == is_again ? plan->own_bytes() : 0;
        }
        return bytes;
    }
    // The oldest of those used once, unless those used again have more than three quarters.
    void drop_one() {
        const auto drop_oldest = [this](bool is_again) {
            for (size_t i = plans_.size(); i-- > 1;) {
                if ((again_.count(plans_[i]) > 0) == is_again) {
                    again_.erase(plans_[i]);
                    plans_.erase(plans_.begin() + ptrdiff_t(i));
                    return true;
                }
            }
            return false;
        };
        const bool is_again = bytes_of(true) > most_bytes_ / 4 * 3;
        EXPECT_TRUE(drop_oldest(is_again) || drop_oldest(!is_again));
    }

    int64_t most_bytes_;
    std::vector<PlanPtr> plans_;  // the one used last first
    std::set<PlanPtr> again_;
};

TEST(PlanCache, HoldsWhatAPlainListHolds) {
    constexpr int64_t kMostBytes = 64 << 10;
    SplitMix random(1);
    PlanCache cache(kMostBytes, {});
    PlainList list(kMostBytes);
    int made = 0;
    int found = 0;
    size_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
        // Mostly some of a few keys; of group 2 a plan is rare, so that others push it out.
        const int group = random.below(100) == 0 ? 2 : random.below(2);
        const PlanKey key = key_of(random.below(random.below(8) == 0 ? 200 : 12), group);
        const PlanPtr wanted = list.find(key);
        const PlanPtr former = list.newest(group);
        // A few are larger than the cache.
        const size_t kernels = random.below(200) == 0 ? 200 : size_t(random.below(16));
        bool has_made = false;
        const Result<PlanPtr> plan = cache.find_or_make(key, {}, [&](const PlanPtr& seed) {
            has_made = true;
            EXPECT_EQ(seed, former);
            return Result<PlanPtr>(plan_of(key, kernels, random.below(1000)));
        });
        ASSERT_TRUE(plan.ok());
        ASSERT_EQ(has_made, wanted == nullptr);
        ASSERT_TRUE(has_made || *plan == wanted);
        (has_made ? made : found) += 1;
        list.use(*plan);
        ASSERT_EQ(cache.plans(), list.plans()) << "after " << i;
        for (int g = 0; g < 3; ++g) {
            ASSERT_EQ(cache.newest(g), list.newest(g));
            ASSERT_EQ(cache.request_room(g).arena_bytes, list.arena_bytes(g));
        }
        most = std::max(most, list.plans().size());
    }
    EXPECT_GT(made, 2000);
    EXPECT_GT(found, 2000);
    EXPECT_GT(most, 8U);
    EXPECT_LT(most, 100U);
}

// A value that grows in each run has another plan each time.
TEST(PlanCache, KeepsPlansUsedAgainWherePlansAreUsedOnce) {
    PlanCache cache(64 << 10, {});
    const auto make = [](int64_t key) {
        return
            [key](const PlanPtr& /*former*/) { return Result<PlanPtr>(plan_of(key_of(key), 4)); };
    };
    const PlanPtr kept = *cache.find_or_make(key_of(0), {}, make(0));
    ASSERT_EQ(*cache.find_or_make(key_of(0), {}, make(0)), kept);
    for (int64_t key = 1; key < 1000; ++key) {
        ASSERT_TRUE(cache.find_or_make(key_of(key), {}, make(key)).ok());
    }
    EXPECT_EQ(*cache.find_or_make(key_of(0), {}, make(0)), kept);
    const PlanningReport planning = cache.planning();
    EXPECT_EQ(planning.made, 1000);
    EXPECT_EQ(planning.dropped, 1000 - int64_t(cache.plans().size()));
}

// The segments of a graph have one budget.
TEST(PlanCache, SharesABudget) {
    const auto budget = std::make_shared<PlanBudget>(64 << 10);
    {
        PlanCache first(1, {});
        PlanCache second(1, {});
        first.share(budget);
        second.share(budget);
        for (int64_t key = 0; key < 100; ++key) {
            PlanCache& cache = key < 50 ? first : second;
            ASSERT_TRUE(cache
                            .find_or_make(key_of(key), {},
                                          [key](const PlanPtr& /*former*/) {
                                              return Result<PlanPtr>(plan_of(key_of(key), 4));
                                          })
                            .ok());
            EXPECT_LE(budget->held_bytes, budget->most_bytes + plan_of(key_of(1), 4)->own_bytes());
        }
        EXPECT_GE(first.plans().size(), 1U);
        EXPECT_GE(second.plans().size(), 1U);
    }
    EXPECT_EQ(budget->held_bytes, 0);
}

TEST(PlanCache, KeepsThePlanThatIsThereWhereOneIsAdded) {
    PlanCache cache(1 << 20, {});
    const PlanPtr first = plan_of(key_of(1), 1);
    cache.add(first);
    cache.add(plan_of(key_of(2), 1));
    cache.add(plan_of(key_of(1), 1));
    ASSERT_EQ(cache.plans().size(), 2U);
    EXPECT_EQ(cache.plans().front(), first);
}

// For which there is no memory: neither room for it nor a plan that starts from it is asked for.
TEST(PlanCache, ForgetsWhatIsDropped) {
    PlanCache cache(1 << 20, {});
    const PlanPtr small = plan_of(key_of(1), 1, 100);
    const PlanPtr large = plan_of(key_of(2), 1, 1000);
    cache.add(small);
    cache.add(plan_of(key_of(3, 1), 1, 10));
    cache.add(large);
    cache.drop(plan_of(key_of(2), 1, 1000));  // another one of that key
    EXPECT_EQ(cache.newest(0), large);
    cache.drop(large);
    cache.drop(large);
    EXPECT_EQ(cache.plans().size(), 2U);
    EXPECT_EQ(cache.newest(0), small);
    EXPECT_EQ(cache.request_room(0).arena_bytes, 100);
    cache.drop(small);
    EXPECT_EQ(cache.newest(0), nullptr);
    EXPECT_EQ(cache.request_room(0).arena_bytes, 0);
    cache.add(large);
    EXPECT_EQ(cache.newest(0), large);
}

TEST(PlanCache, RemembersTheRoomAtTheBoundsOfPlansThatWent) {
    PlanCache cache(1, key_of(64).shapes);
    cache.add(plan_of(key_of(64), 1, 1000));
    cache.add(plan_of(key_of(3), 1, 100));
    EXPECT_EQ(cache.plans().size(), 1U);
    EXPECT_EQ(cache.request_room(0).arena_bytes, 1000);
    EXPECT_EQ(cache.request_room(0).scratch_bytes, 500);
    EXPECT_EQ(cache.request_room(1).arena_bytes, 0);
}

// A plan that cannot be made leaves the cache as it is.
TEST(PlanCache, KeepsNothingOfAnError) {
    PlanCache cache(1 << 20, {});
    cache.add(plan_of(key_of(1), 1));
    const auto failed = cache.find_or_make(key_of(2), {}, [](const PlanPtr& /*former*/) {
        return Result<PlanPtr>(Status(StatusCode::kInvalidArgument, "not these"));
    });
    EXPECT_EQ(failed.error().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(cache.plans().size(), 1U);
    EXPECT_EQ(cache.newest(0)->key, key_of(1));
}

// Keys that resemble each other share no number, so that one is compared with one other at most.
TEST(PlanKey, HasANumberOfItsOwn) {
    std::set<uint64_t> numbers;
    size_t keys = 0;
    const auto add = [&](const PlanKey& key) {
        EXPECT_EQ(hash_of(key), hash_of(PlanKey(key)));
        numbers.insert(hash_of(key));
        ++keys;
    };
    for (int group = 0; group < 3; ++group) {
        add({group, {}, {}});
        add({group, {Shape{}}, {}});
        add({group, {Shape{}, Shape{}}, {}});
        for (int64_t a = 0; a < 64; ++a) {
            add({group, {Shape{a}}, {}});
            add({group, {}, {std::byte(a)}});
            add({group, {}, {std::byte(a), std::byte{0}}});
            for (int64_t b = 0; b < 64; ++b) {
                add({group, {Shape{a, b}}, {}});
                add({group, {Shape{a}, Shape{b}}, {}});
                add({group, {Shape{a}}, {std::byte(b), std::byte{1}}});
            }
        }
    }
    EXPECT_EQ(numbers.size(), keys);
}

}  // namespace
}  // namespace leat
