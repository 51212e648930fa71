// IdVector: a vector indexed by a strong id (ValueId, NodeId), so that what is listed by value
// cannot be asked by node.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace leat {

// Id: a struct whose `index` counts from 0. Indexing is unchecked, as in std::vector.
template <class Id, class T>
class IdVector {
  public:
    IdVector() = default;
    explicit IdVector(size_t size, const T& value = T()) : items_(size, value) {}
    explicit IdVector(std::vector<T> items) : items_(std::move(items)) {}

    // By value where T is bool, as std::vector<bool> has it.
    decltype(auto) operator[](Id id) { return items_[size_t(id.index)]; }
    decltype(auto) operator[](Id id) const { return items_[size_t(id.index)]; }

    size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }
    auto begin() { return items_.begin(); }
    auto end() { return items_.end(); }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    // For functions that take indexes as numbers.
    const std::vector<T>& list() const { return items_; }

    friend bool operator==(const IdVector&, const IdVector&) = default;

  private:
    std::vector<T> items_;
};

}  // namespace leat
