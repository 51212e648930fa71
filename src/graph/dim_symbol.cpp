#include "graph/dim_symbol.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"

namespace leat {
namespace {

// Ends where no other quote can be taken for its end.
std::string quoted(std::string_view text) {
    std::string out(1, '"');
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out.push_back('\\');
        }
        out.push_back(c);
    }
    out.push_back('"');
    return out;
}

std::shared_ptr<const DimSymbol> leaf(DimSymbol::Kind kind, std::string text, std::string key) {
    DimSymbol symbol;
    symbol.kind = kind;
    symbol.text = std::move(text);
    symbol.key = std::move(key);
    return std::make_shared<const DimSymbol>(std::move(symbol));
}

const std::string& no_text() {
    static const std::string kNone;
    return kNone;
}

// An index plus a number; null: it is something else.
std::pair<const DimSymbol*, int64_t> index_and_offset(const DimSpec& dim) {
    const DimSymbol* const symbol = dim.symbol();
    if (symbol == nullptr) {
        return {nullptr, 0};
    }
    if (symbol->kind == DimSymbol::Kind::kSum && symbol->operands.size() == 1) {
        const auto [index, offset] = index_and_offset(symbol->operands[0]);
        return {index, offset + symbol->number};
    }
    return {symbol->kind == DimSymbol::Kind::kIndex ? symbol : nullptr, 0};
}

}  // namespace

DimSpec::DimSpec(std::string_view name)
    : symbol_(name.empty() ? nullptr
                           : leaf(DimSymbol::Kind::kName, std::string(name), quoted(name))) {}

const std::string& DimSpec::name() const {
    const bool has_name = symbol_ != nullptr && symbol_->kind != DimSymbol::Kind::kOverflow;
    return has_name ? symbol_->text : no_text();
}

DimSpec axis_dim(std::string_view value, size_t axis) {
    const std::string number = "." + std::to_string(axis);
    return DimSpec(
        leaf(DimSymbol::Kind::kAxis, std::string(value) + number, "@" + quoted(value) + number));
}

DimSpec index_dim(std::string_view key, const DimSpec& limit) {
    DimSymbol symbol;
    symbol.kind = DimSymbol::Kind::kIndex;
    symbol.text = std::string(key);
    symbol.key = "#" + quoted(key) + "<" +
                 (limit.is_fixed() ? std::to_string(limit.extent()) : dim_key(limit));
    symbol.operands = {limit};
    return DimSpec(std::make_shared<const DimSymbol>(std::move(symbol)));
}

bool has_index(const DimSpec& dim, std::string_view key) {
    const DimSymbol* const symbol = dim.symbol();
    if (symbol == nullptr) {
        return false;
    }
    return (symbol->kind == DimSymbol::Kind::kIndex && symbol->text == key) ||
           std::any_of(symbol->operands.begin(), symbol->operands.end(),
                       [key](const DimSpec& operand) { return has_index(operand, key); });
}

std::optional<int64_t> length_within(const DimSpec& begin,
                                     const DimSpec& end,
                                     const DimSpec& extent) {
    const auto [first, offset] = index_and_offset(begin);
    const auto [second, end_offset] = index_and_offset(end);
    if (first == nullptr || second == nullptr || first->key != second->key || offset < 0 ||
        end_offset < offset) {
        return std::nullopt;
    }
    const DimSpec& limit = first->operands[0];
    // The last index is limit - 1.
    int64_t most = 0;
    const bool is_within = limit.is_fixed() && extent.is_fixed()
                               ? !__builtin_add_overflow(limit.extent() - 1, end_offset, &most) &&
                                     most <= extent.extent()
                               : end_offset <= 1 && same_dim(limit, extent);
    return is_within ? std::optional(end_offset - offset) : std::nullopt;
}

DimSpec stored_dim(std::string text, std::string key) {
    return DimSpec(leaf(DimSymbol::Kind::kName, std::move(text), std::move(key)));
}

const std::string& dim_key(const DimSpec& dim) {
    return dim.symbol() == nullptr ? no_text() : dim.symbol()->key;
}

const std::string* find_overflow(const DimSpec& dim) {
    const DimSymbol* symbol = dim.symbol();
    return symbol != nullptr && symbol->kind == DimSymbol::Kind::kOverflow ? &symbol->text
                                                                           : nullptr;
}

void DimProduct::multiply(const DimSpec& dim) {
    const DimSymbol* symbol = dim.symbol();
    int64_t factor = 1;
    if (dim.is_fixed()) {
        factor = dim.extent();
    } else if (find_overflow(dim) != nullptr) {
        overflows = true;
    } else if (symbol == nullptr) {
        is_known = false;
    } else if (symbol->kind == DimSymbol::Kind::kProduct) {
        factor = symbol->number;
        factors.insert(factors.end(), symbol->operands.begin(), symbol->operands.end());
    } else {
        factors.push_back(dim);
    }
    if (number == 0 || factor == 0) {
        number = 0;
        overflows = false;
        return;
    }
    overflows = __builtin_mul_overflow(number, factor, &number) || overflows;
}

}  // namespace leat
