// What stands behind an extent that is no number. Sums and products are kept as such, never read
// back from their text: a model may call an extent "2", "n*2" or "a+b", and means nothing by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/graph.h"

namespace leat {

struct DimSymbol {
    enum class Kind : uint8_t {
        kName,      // opaque, whatever its text
        kAxis,      // an axis of a value, where nothing gives it a name
        kSum,       // of the operands and the number
        kProduct,   // of the operands and the number
        kOverflow,  // a number that is too large
        kIndex,     // any number from 0 on that is less than the only operand
    };
    Kind kind = Kind::kName;
    std::string text;  // for people: two extents may have the same
    std::string key;   // the same where the extents surely are; empty of an overflow
    int64_t number = 0;
    std::vector<DimSpec> operands;  // sorted by text and key
};

// The extent of an axis of a value that has no other name: "x.0".
DimSpec axis_dim(std::string_view value, size_t axis);
// Any number from 0 on that is less than `limit`, such as that of an iteration: the same one in all
// extents of this key and limit.
DimSpec index_dim(std::string_view key, const DimSpec& limit);
// True if some part of the extent is an index of that key.
bool has_index(const DimSpec& dim, std::string_view key);
// How many numbers are in [begin, end), where both are the same index plus a number, and the range
// lies in [0, extent) whatever the index is; nothing where that is not known.
std::optional<int64_t> length_within(const DimSpec& begin,
                                     const DimSpec& end,
                                     const DimSpec& extent);
// One that was stored: its operands are not known any more.
DimSpec stored_dim(std::string text, std::string key);
// Which extents are equal: "" of a number, an unknown one and an overflow.
const std::string& dim_key(const DimSpec& dim);
// The expression that is too large for an extent; null: it is none.
const std::string* find_overflow(const DimSpec& dim);

// A product as its number and other factors; a sum or a name is one factor.
struct DimProduct {
    int64_t number = 1;
    std::vector<DimSpec> factors;
    bool overflows = false;  // the number does; one that is 0 does not
    bool is_known = true;    // no factor is unknown

    void multiply(const DimSpec& dim);
};

}  // namespace leat
