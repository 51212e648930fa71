// InlineVector: a short list of numbers that allocates only beyond N elements.
//
// As std::vector, for trivially copyable elements. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace leat {

template <class T, size_t N>
class InlineVector {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    using value_type = T;
    using const_iterator = const T*;

    InlineVector() = default;
    InlineVector(std::initializer_list<T> elements) { assign(elements.begin(), elements.end()); }
    InlineVector(const InlineVector& other) { assign(other.begin(), other.end()); }
    InlineVector(InlineVector&& other) noexcept { take(other); }
    InlineVector& operator=(const InlineVector& other) {
        if (this != &other) {
            assign(other.begin(), other.end());
        }
        return *this;
    }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this != &other) {
            take(other);
        }
        return *this;
    }
    ~InlineVector() = default;

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return more_ == nullptr ? few_ : more_.get(); }
    const T* data() const { return more_ == nullptr ? few_ : more_.get(); }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](size_t i) { return data()[i]; }
    const T& operator[](size_t i) const { return data()[i]; }
    const T& front() const { return data()[0]; }
    const T& back() const { return data()[size_ - 1]; }

    void clear() { size_ = 0; }
    // Precondition: count <= size().
    void truncate(size_t count) { size_ = uint32_t(count); }
    void resize(size_t count) {
        reserve(count);
        std::fill(end(), data() + std::max(count, size()), T{});
        size_ = uint32_t(count);
    }
    void reserve(size_t count) {
        if (count > capacity_) {
            auto more = std::make_unique<T[]>(count);
            std::copy_n(data(), size_, more.get());
            more_ = std::move(more);
            capacity_ = uint32_t(count);
        }
    }
    void push_back(T element) {
        if (size_ == capacity_) {
            reserve(size_t{2} * capacity_);
        }
        data()[size_++] = element;
    }
    void erase(const T* element) {
        T* const at = begin() + (element - begin());
        std::copy(at + 1, end(), at);
        --size_;
    }
    template <class Iterator>
    void assign(Iterator first, Iterator last) {
        const auto count = size_t(last - first);
        reserve(count);
        std::copy(first, last, data());
        size_ = uint32_t(count);
    }

    friend bool operator==(const InlineVector& a, const InlineVector& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    void take(InlineVector& other) {
        std::copy_n(other.few_, N, few_);
        more_ = std::move(other.more_);
        size_ = other.size_;
        capacity_ = other.capacity_;
        other.size_ = 0;
        other.capacity_ = N;
    }

    std::unique_ptr<T[]> more_;  // null: they are in few_
    uint32_t size_ = 0;
    uint32_t capacity_ = N;
    T few_[N] = {};
};

}  // namespace leat
