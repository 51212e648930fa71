#include "runtime/mapped_copies.h"

#include <set>
#include <system_error>
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

// The copies of one group.
class GroupCopies {
  public:
    GroupCopies(const CompiledGraph::Impl& compiled, int group, std::span<const WeightForm> forms)
        : forms_(forms),
          weights_(compiled.placed_weights(group)),
          threads_(compiled.runtime->groups[size_t(group)]),
          held_(forms.size()) {}

    Status make() {
        const auto range = [](void* context, int64_t begin, int64_t end, int /*worker*/) {
            return static_cast<GroupCopies*>(context)->copy(begin, end);
        };
        return catch_bad_alloc("copy packed constants", [&]() -> Status {
            // Once, and not for each constant; the executor's own threads are there anyway.
            scheduler::ThreadBinding binding(threads_.cpus);
            (void)binding.bind();
            const std::shared_ptr<const void> room = weights_.reserve(forms_);
            return threads_.executor->parallel_for(int64_t(held_.size()), 1, range, this);
        });
    }
    void move_to(HeldWeights& all) {
        all.insert(all.end(), std::make_move_iterator(held_.begin()),
                   std::make_move_iterator(held_.end()));
    }

  private:
    Status copy(int64_t begin, int64_t end) {
        return catch_bad_alloc("copy packed constants", [&]() -> Status {
            for (int64_t i = begin; i < end; ++i) {
                const WeightForm& form = forms_[size_t(i)];
                LEAT_ASSIGN_OR_RETURN(
                    held_[size_t(i)],
                    weights_.get_or_pack(form.source, form.layout_key, form.bytes, no_packing));
            }
            return {};
        });
    }

    std::span<const WeightForm> forms_;
    PlacedWeights weights_;
    const ThreadGroup& threads_;
    HeldWeights held_;
};

// Calls body(i) for each i of [0, count), each on a thread of its own as far as there are any.
template <class Body>
void run_beside_each_other(size_t count, const Body& body) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (size_t i = 1; i < count; ++i) {
        try {
            threads.emplace_back(body, i);
        } catch (const std::system_error&) {  // no thread: then here
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
    run_beside_each_other(copies.size(),
                          [&](size_t group) { results[group] = copies[group].make(); });
    for (const Status& result : results) {
        LEAT_RETURN_IF_ERROR(result);
    }
    for (GroupCopies& group : copies) {
        group.move_to(held);
    }
    return held;
}

}  // namespace leat
