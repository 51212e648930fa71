#include "compile/mapped_copies.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/thread_binding.h"

namespace leat {
namespace {

// The store finds what is mapped.
void no_packing(const Tensor& /*source*/, std::byte* /*packed*/) {
    LEAT_CHECK(false, "a mapped constant is packed");
}

// Makes copies with all threads of an executor; each takes the next huge pages until none is left.
class SharedCopies {
  public:
    SharedCopies(scheduler::Executor& executor, std::vector<Copy> copies)
        : executor_(executor), copies_(std::move(copies)) {}

    Status make() {
        const auto take_part = [](void* context, int64_t /*begin*/, int64_t end, int /*worker*/) {
            if (end > 1) {
                static_cast<SharedCopies*>(context)->copy();
            }
            return Status();
        };
        // A part for each thread behind one with no work: the executor calls helpers after it.
        return executor_.parallel_for(executor_.worker_count() + 1, 1, take_part, this);
    }

  private:
    // A thread takes one of so many parts of its even share of what is left: less and less, so that
    // all end at about the same time.
    static constexpr int64_t kPartsOfShare = 4;

    void copy() {
        const int64_t pages = copies_.page_count();
        const int64_t parts = kPartsOfShare * executor_.worker_count();
        int64_t begin = next_.load(std::memory_order_relaxed);
        while (begin < pages) {
            const int64_t end = begin + std::max<int64_t>(1, (pages - begin) / parts);
            if (next_.compare_exchange_weak(begin, end, std::memory_order_relaxed)) {
                copies_.copy(begin, end);
                begin = next_.load(std::memory_order_relaxed);
            }
        }
    }

    scheduler::Executor& executor_;
    const PagedCopies copies_;
    std::atomic<int64_t> next_{0};
};

// The copies of one group.
class GroupCopies {
  public:
    GroupCopies(const CompiledGraph::Impl& compiled, int group, std::span<const WeightForm> forms)
        : forms_(forms),
          weights_(compiled.placed_weights(group)),
          threads_(compiled.runtime->groups[size_t(group)]) {}

    Status make() {
        return catch_bad_alloc("copy packed constants", [&]() -> Status {
            // Once, and not for each constant; the executor's own threads are there anyway.
            scheduler::ThreadBinding binding(threads_.cpus);
            (void)binding.bind();
            LEAT_ASSIGN_OR_RETURN(
                held_, weights_.copy_together(forms_, [this](std::vector<Copy> copies) {
                    return SharedCopies(*threads_.executor, std::move(copies)).make();
                }));
            return make_others();
        });
    }
    void move_to(HeldWeights& all) {
        all.insert(all.end(), std::make_move_iterator(held_.begin()),
                   std::make_move_iterator(held_.end()));
    }

  private:
    // Those that go elsewhere, or that somebody else is making.
    Status make_others() {
        for (size_t i = 0; i < held_.size(); ++i) {
            if (held_[i] == nullptr) {
                others_.push_back(i);
            }
        }
        if (others_.empty()) {
            return {};
        }
        const auto range = [](void* context, int64_t begin, int64_t end, int /*worker*/) {
            return static_cast<GroupCopies*>(context)->copy_others(begin, end);
        };
        return threads_.executor->parallel_for(int64_t(others_.size()), 1, range, this);
    }
    Status copy_others(int64_t begin, int64_t end) {
        return catch_bad_alloc("copy packed constants", [&]() -> Status {
            for (int64_t i = begin; i < end; ++i) {
                const size_t other = others_[size_t(i)];
                const WeightForm& form = forms_[other];
                LEAT_ASSIGN_OR_RETURN(
                    held_[other],
                    weights_.get_or_pack(form.source, form.layout_key, form.bytes, no_packing));
            }
            return {};
        });
    }

    std::span<const WeightForm> forms_;
    PlacedWeights weights_;
    const ThreadGroup& threads_;
    HeldWeights held_;
    std::vector<size_t> others_;  // of the forms
};

// Calls body(i) for each i of [0, count), each on a thread of its own as far as there are any.
template <class Body>
void run_beside_each_other(size_t count, const Body& body) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (size_t i = 1; i < count; ++i) {
        try {
            threads.emplace_back(body, i);
        } catch (const std::exception&) {  // no thread, or no memory for one: then here
            body(i);
        }
    }
    body(0);
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace

Result<std::shared_ptr<const MappedWeights>> map_weights(const BlobReader& blobs,
                                                         std::span<const PackedRecord> packed) {
    auto weights = std::make_shared<MappedWeights>(blobs.file());
    for (const auto& [blob, tensor] : blobs.tensors) {
        weights->add_hash(tensor, blobs.places()[size_t(blob)].hash);
    }
    for (const PackedRecord& record : packed) {
        const auto source = blobs.tensors.find(record.source_blob);
        const std::byte* memory = blobs.find_own(record.packed_blob);
        if (source == blobs.tensors.end() || memory == nullptr) {
            return parse_error("a packed constant is of blob {}, which is no constant",
                               record.source_blob);
        }
        weights->add(source->second, record.layout_key,
                     blobs.places()[size_t(record.packed_blob)].size_bytes, memory);
    }
    return std::shared_ptr<const MappedWeights>(std::move(weights));
}

std::vector<WeightForm> mapped_forms(const BlobReader& blobs,
                                     std::span<const PackedRecord> packed) {
    std::vector<WeightForm> forms;
    std::set<int32_t> seen;  // of a file that nobody tampered with each is another one
    for (const PackedRecord& record : packed) {
        if (seen.insert(record.packed_blob).second) {
            forms.push_back({blobs.tensors.at(record.source_blob), record.layout_key,
                             blobs.places()[size_t(record.packed_blob)].size_bytes});
        }
    }
    return forms;
}

Result<HeldWeights> copy_mapped_weights(const CompiledGraph::Impl& compiled,
                                        std::span<const int> groups,
                                        std::span<const WeightForm> forms) {
    HeldWeights held;
    const Runtime::Impl& runtime = *compiled.runtime;
    std::vector<GroupCopies> copies;
    copies.reserve(groups.size());
    for (const int group : groups) {
        if (runtime.weights.places() &&
            runtime.weight_target(runtime.groups[size_t(group)]).domain) {
            copies.emplace_back(compiled, group, forms);
        }
    }
    if (copies.empty()) {
        return held;
    }
    std::vector<Status> results(copies.size());
    run_beside_each_other(copies.size(), [&](size_t group) {
        results[group] =
            catch_bad_alloc("copy packed constants", [&] { return copies[group].make(); });
    });
    for (const Status& result : results) {
        LEAT_RETURN_IF_ERROR(result);
    }
    for (GroupCopies& group : copies) {
        group.move_to(held);
    }
    return held;
}

}  // namespace leat
