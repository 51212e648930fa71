#include "run/value_pool.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"

namespace leat {
namespace {

constexpr int64_t kLeastBytes = 64;

// Four sizes between a power of two and the next.
int64_t rounded_size(int64_t bytes) {
    int64_t step = kLeastBytes;
    while (step < bytes / 8) {
        step *= 2;
    }
    return round_up(std::max(bytes, kLeastBytes), step);
}

}  // namespace

ValuePool::ValuePool(int64_t limit_bytes)
    : limit_bytes_(limit_bytes), store_(std::make_shared<Store>()) {}

// Gives its memory back when the last tensor in it ends. What that needs it has already: the end of
// a tensor cannot fail.
struct ValuePool::Lease {
    explicit Lease(std::shared_ptr<Store> owner) : store(std::move(owner)) {}
    ~Lease() {
        if (!block.empty()) {
            const std::lock_guard lock(store->mutex);
            store->used_bytes -= block.key();
            store->free.insert(std::move(block));
        }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    std::shared_ptr<Store> store;
    Blocks::node_type block;
};

// A block that nobody uses, or an empty handle. Under the mutex. An error: there is no room.
Result<ValuePool::Blocks::node_type> ValuePool::take_block(int64_t bytes) {
    if (const auto it = store_->free.find(bytes); it != store_->free.end()) {
        return store_->free.extract(it);
    }
    while (limit_bytes_ > 0 && store_->held_bytes + bytes > limit_bytes_ && !store_->free.empty()) {
        store_->held_bytes -= store_->free.begin()->first;
        store_->free.erase(store_->free.begin());
    }
    if (limit_bytes_ > 0 && store_->held_bytes + bytes > limit_bytes_) {
        return Status::bare(StatusCode::kOutOfMemory);
    }
    return Blocks::node_type();
}

Result<Tensor> ValuePool::allocate(DType dtype, const Shape& shape, std::string_view value) {
    const std::optional<int64_t> wanted = storage_bytes(dtype, shape.element_count());
    if (!wanted || *wanted > std::numeric_limits<int64_t>::max() / 2) {
        return out_of_memory("value '{}' has more bytes than 64 bits count", value)
            .with_found(fmt::format("{}[{}]", name_of(dtype), shape.to_string()));
    }
    if (dtype == DType::kString) {  // strings have memory of their own
        return Tensor::allocate(dtype, shape);
    }
    const int64_t bytes = rounded_size(*wanted);
    const auto lease = std::make_shared<Lease>(store_);
    Blocks made;
    {
        const std::lock_guard lock(store_->mutex);
        Result<Blocks::node_type> block = take_block(bytes);
        if (!block.ok()) {
            return out_of_memory("the value pool has no room for '{}'", value)
                .with_found(fmt::format("{} bytes for {}[{}], beside {} bytes of other values",
                                        bytes, name_of(dtype), shape.to_string(),
                                        store_->held_bytes))
                .with_needed(fmt::format("at most {} bytes in all", limit_bytes_))
                .with_hint("raise CompileOptions::pool_limit_bytes");
        }
        lease->block = *std::move(block);
        if (!lease->block.empty()) {
            add_used(bytes);
        }
    }
    if (lease->block.empty()) {
        Result<Tensor> memory = Tensor::allocate(DType::kUint8, Shape({bytes}));
        if (!memory.ok()) {
            return std::move(memory).error().with_node(fmt::format("value '{}'", value));
        }
        made.emplace(bytes, *std::move(memory));
        const std::lock_guard lock(store_->mutex);
        lease->block = made.extract(made.begin());
        store_->held_bytes += bytes;
        add_used(bytes);
    }
    std::byte* const data = lease->block.mapped().mutable_bytes();
    if (bits_of(dtype) < 8 && *wanted > 0) {
        data[*wanted - 1] = std::byte{0};  // bits behind the last element
    }
    return Tensor::view(dtype, shape, data, lease);
}

// Under the mutex.
void ValuePool::add_used(int64_t bytes) {
    store_->used_bytes += bytes;
    store_->peak_bytes = std::max(store_->peak_bytes, store_->used_bytes);
}

void ValuePool::trim() {
    const std::lock_guard lock(store_->mutex);
    for (const auto& [bytes, memory] : store_->free) {
        store_->held_bytes -= bytes;
    }
    store_->free.clear();
}

int64_t ValuePool::held_bytes() const {
    const std::lock_guard lock(store_->mutex);
    return store_->held_bytes;
}

int64_t ValuePool::peak_bytes() const {
    const std::lock_guard lock(store_->mutex);
    return store_->peak_bytes;
}

}  // namespace leat
