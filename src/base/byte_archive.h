// ByteWriter, ByteReader: records as bytes and back. One list of fields serves both directions:
//
//   template <class Archive> void fields(Archive& archive, Point& point) {
//       auto& [x, y] = point;  // a new member does not compile until it is listed here
//       archive(x, y);
//   }
//
// `context` is what fields() of some record may need besides, as a table that it refers to.
//
// Numbers are in the byte order of the machine. A reader never trusts what it reads: past the end,
// or where a number is out of its range, it has failed for good, and everything after that is zero
// or empty. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace leat {

template <class Context>
class ByteWriter {
  public:
    static constexpr bool kReads = false;

    explicit ByteWriter(Context& given) : context(given) {}

    template <class... T>
    void operator()(T&... values) {
        (put(values), ...);
    }
    // `last`: the largest enumerator; 0 is the smallest.
    template <class Enum>
    void enumerator(Enum& value, Enum /*last*/) {
        number(std::underlying_type_t<Enum>(value));
    }
    void fail() {}
    bool ok() const { return true; }
    const std::string& bytes() const { return bytes_; }

    Context& context;
    // How many records of a kind that nests stand around what is read: fields() of it bounds that.
    int nesting = 0;

  private:
    template <class T>
    void number(T value) {
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        bytes_.append(raw, sizeof(T));
    }
    template <class T>
    void put(T& value) {
        if constexpr (std::is_arithmetic_v<T>) {
            number(value);
        } else {
            fields(*this, value);
        }
    }
    void put(std::string& text) {
        number(uint64_t(text.size()));
        bytes_ += text;
    }
    void put(std::byte& value) { number(value); }
    template <class T>
    void put(std::vector<T>& list) {
        number(uint64_t(list.size()));
        for (T& item : list) {
            put(item);
        }
    }
    void put(std::vector<bool>& list) {
        number(uint64_t(list.size()));
        for (const bool item : list) {
            number(uint8_t(item));
        }
    }
    template <class T>
    void put(std::optional<T>& value) {
        number(uint8_t(value.has_value()));
        if (value) {
            put(*value);
        }
    }
    template <class Key, class T, class Compare>
    void put(std::map<Key, T, Compare>& table) {
        number(uint64_t(table.size()));
        for (auto& [key, value] : table) {
            Key copy = key;
            put(copy);
            put(value);
        }
    }
    template <class A, class B>
    void put(std::pair<A, B>& both) {
        put(both.first);
        put(both.second);
    }

    std::string bytes_;
};

template <class Context>
class ByteReader {
  public:
    static constexpr bool kReads = true;

    ByteReader(std::span<const std::byte> bytes, Context& given) : context(given), bytes_(bytes) {}

    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }
    template <class Enum>
    void enumerator(Enum& value, Enum last) {
        std::underlying_type_t<Enum> raw{};
        number(raw);
        if (raw > std::underlying_type_t<Enum>(last)) {
            fail();
        } else {
            value = Enum(raw);
        }
    }
    void fail() {
        has_failed_ = true;
        bytes_ = {};
    }
    bool ok() const { return !has_failed_; }
    bool is_at_end() const { return bytes_.empty(); }

    Context& context;
    // How many records of a kind that nests stand around what is read: fields() of it bounds that.
    int nesting = 0;

  private:
    template <class T>
    void number(T& value) {
        if (bytes_.size() < sizeof(T)) {
            fail();
            value = T{};
            return;
        }
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
    }
    // Of items of at least a byte each, so never more than there are bytes.
    uint64_t count() {
        uint64_t items = 0;
        number(items);
        if (items > bytes_.size()) {
            fail();
            return 0;
        }
        return items;
    }
    template <class T>
    void get(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            uint8_t raw = 0;
            number(raw);
            value = raw != 0;
        } else if constexpr (std::is_arithmetic_v<T>) {
            number(value);
        } else {
            fields(*this, value);
        }
    }
    void get(std::string& text) {
        const uint64_t length = count();
        text.assign(reinterpret_cast<const char*>(bytes_.data()), size_t(length));
        bytes_ = bytes_.subspan(size_t(length));
    }
    void get(std::byte& value) { number(value); }
    template <class T>
    void get(std::vector<T>& list) {
        list.clear();
        const uint64_t items = count();
        for (uint64_t i = 0; i < items && ok(); ++i) {
            get(list.emplace_back());
        }
    }
    void get(std::vector<bool>& list) {
        list.clear();
        const uint64_t items = count();
        for (uint64_t i = 0; i < items && ok(); ++i) {
            bool item = false;
            get(item);
            list.push_back(item);
        }
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool has_value = false;
        get(has_value);
        value.reset();
        if (has_value && ok()) {
            get(value.emplace());
        }
    }
    template <class Key, class T, class Compare>
    void get(std::map<Key, T, Compare>& table) {
        table.clear();
        const uint64_t items = count();
        for (uint64_t i = 0; i < items && ok(); ++i) {
            Key key;
            get(key);
            get(table[std::move(key)]);
        }
    }
    template <class A, class B>
    void get(std::pair<A, B>& both) {
        get(both.first);
        get(both.second);
    }

    std::span<const std::byte> bytes_;
    bool has_failed_ = false;
};

}  // namespace leat
