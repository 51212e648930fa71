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

void ValuePool::give_back(Store& store, Tensor memory) {
    const std::lock_guard lock(store.mutex);
    const int64_t bytes = memory.byte_count();
    store.used_bytes -= bytes;
    store.free.emplace(bytes, std::move(memory));
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
    Tensor memory;
    {
        const std::lock_guard lock(store_->mutex);
        if (const auto it = store_->free.find(bytes); it != store_->free.end()) {
            memory = std::move(it->second);
            store_->free.erase(it);
        } else if (limit_bytes_ > 0) {
            while (store_->held_bytes + bytes > limit_bytes_ && !store_->free.empty()) {
                store_->held_bytes -= store_->free.begin()->first;
                store_->free.erase(store_->free.begin());
            }
            if (store_->held_bytes + bytes > limit_bytes_) {
                return out_of_memory("the value pool has no room for '{}'", value)
                    .with_found(fmt::format("{} bytes for {}[{}], beside {} bytes of other values",
                                            bytes, name_of(dtype), shape.to_string(),
                                            store_->held_bytes))
                    .with_needed(fmt::format("at most {} bytes in all", limit_bytes_))
                    .with_hint("raise CompileOptions::pool_limit_bytes");
            }
        }
    }
    if (!memory.defined()) {
        Result<Tensor> made = Tensor::allocate(DType::kUint8, Shape({bytes}));
        if (!made.ok()) {
            return std::move(made).error().with_node(fmt::format("value '{}'", value));
        }
        memory = *std::move(made);
        const std::lock_guard lock(store_->mutex);
        store_->held_bytes += bytes;
    }
    {
        const std::lock_guard lock(store_->mutex);
        store_->used_bytes += bytes;
        store_->peak_bytes = std::max(store_->peak_bytes, store_->used_bytes);
    }
    std::byte* const data = memory.mutable_bytes();
    if (bits_of(dtype) < 8 && *wanted > 0) {
        data[*wanted - 1] = std::byte{0};  // bits behind the last element
    }
    struct Lease {
        Lease(std::shared_ptr<Store> owner, Tensor lent)
            : store(std::move(owner)), memory(std::move(lent)) {}
        ~Lease() { give_back(*store, std::move(memory)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        std::shared_ptr<Store> store;
        Tensor memory;
    };
    return Tensor::view(dtype, shape, data, std::make_shared<Lease>(store_, std::move(memory)));
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
