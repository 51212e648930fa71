#include "graph/dim_symbol.h"

#include <utility>

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
