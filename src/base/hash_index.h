// HashIndex: finds numbers by what they stand for, which somebody else keeps.
//
// A table of eight bytes for each of twice to four times as many places as there are numbers, in
// one piece of memory: with a hundred thousand names most of the time of a std::unordered_map is
// waiting for memory. Nothing can be removed. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

class HashIndex {
  public:
    static constexpr uint32_t kNone = ~uint32_t{0};

    void reserve(size_t count) {
        if (2 * count > places_.size()) {
            grow(2 * count);
        }
    }
    // The first number that was inserted with this hash and for which matches(number); or kNone.
    template <class Matches>
    uint32_t find(size_t hash, const Matches& matches) const {
        if (places_.empty()) {
            return kNone;
        }
        const uint32_t wanted = short_of(hash);
        for (size_t at = hash & mask();; at = (at + 1) & mask()) {
            const Place& place = places_[at];
            if (place.number == kNone || (place.hash == wanted && matches(place.number))) {
                return place.number;
            }
        }
    }
    // Numbers that match one another may be inserted too: the first is found.
    void insert(size_t hash, uint32_t number) {
        reserve(count_ + 1);
        put({short_of(hash), number}, hash & mask());
        ++count_;
    }

  private:
    struct Place {
        uint32_t hash = 0;
        uint32_t number = kNone;
    };

    // The table has at most 2^32 places, so that these bits say where to look as well.
    static uint32_t short_of(size_t hash) { return uint32_t(hash); }
    size_t mask() const { return places_.size() - 1; }
    void put(Place place, size_t at) {
        for (; places_[at].number != kNone; at = (at + 1) & mask()) {
        }
        places_[at] = place;
    }
    // Places behind a free one are at their own or follow from there: so that the order of those
    // with one hash stays, it begins there.
    void grow(size_t least) {
        size_t size = 16;
        while (size < least) {
            size *= 2;
        }
        const std::vector<Place> before = std::exchange(places_, std::vector<Place>(size));
        size_t first = 0;
        while (first < before.size() && before[first].number != kNone) {
            ++first;
        }
        for (size_t i = 0; i < before.size(); ++i) {
            const Place& place = before[(first + i) % before.size()];
            if (place.number != kNone) {
                put(place, place.hash & mask());
            }
        }
    }

    std::vector<Place> places_;
    size_t count_ = 0;
};

// What belongs to each of some names, whose characters somebody else keeps.
template <class T>
class NameTable {
  public:
    void reserve(size_t count) {
        index_.reserve(count);
        entries_.reserve(count);
    }
    size_t size() const { return entries_.size(); }
    // Null: there is no such name. Valid until one is added.
    const T* find(std::string_view name) const {
        const uint32_t number = number_of(name, hash_of(name));
        return number == HashIndex::kNone ? nullptr : &entries_[number].value;
    }
    bool contains(std::string_view name) const { return find(name) != nullptr; }
    // False, and nothing is changed: the name is there.
    bool insert(std::string_view name, T value = {}) {
        const size_t hash = hash_of(name);
        if (number_of(name, hash) != HashIndex::kNone) {
            return false;
        }
        add(name, hash, std::move(value));
        return true;
    }
    void set(std::string_view name, T value) {
        const size_t hash = hash_of(name);
        const uint32_t number = number_of(name, hash);
        if (number == HashIndex::kNone) {
            add(name, hash, std::move(value));
        } else {
            entries_[number].value = std::move(value);
        }
    }

  private:
    struct Entry {
        std::string_view name;
        T value;
    };

    static size_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }
    uint32_t number_of(std::string_view name, size_t hash) const {
        return index_.find(hash,
                           [&](uint32_t candidate) { return entries_[candidate].name == name; });
    }
    void add(std::string_view name, size_t hash, T value) {
        index_.insert(hash, uint32_t(entries_.size()));
        entries_.push_back({name, std::move(value)});
    }

    HashIndex index_;
    std::vector<Entry> entries_;
};

}  // namespace leat
