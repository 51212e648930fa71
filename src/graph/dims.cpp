// Arithmetic on symbolic extents, broadcasting, axes.
#include <algorithm>

#include "graph/dim_symbol.h"
#include "graph/op_def.h"

namespace leat {
namespace {

// Longer expressions say nothing to a reader and grow without end in deep graphs.
constexpr size_t kMaxNameBytes = 80;

bool is_unknown(const DimSpec& dim) {
    return !dim.is_fixed() && dim.symbol() == nullptr;
}

DimSpec too_large(const DimSpec& a, char operation, const DimSpec& b) {
    const auto text = [](const DimSpec& dim) {
        const std::string* const expression = find_overflow(dim);
        return expression != nullptr ? *expression : std::to_string(dim.extent());
    };
    DimSymbol symbol;
    symbol.kind = DimSymbol::Kind::kOverflow;
    symbol.text = text(a) + operation + text(b);
    return DimSpec(std::make_shared<const DimSymbol>(std::move(symbol)));
}

// As an operand: a sum needs parentheses as a factor, and so does a name that looks like one.
std::string shown(const DimSpec& dim, bool in_sum) {
    const std::string& text = dim.symbol()->text;
    return in_sum || text.find_first_of("+*") == std::string::npos ? text : "(" + text + ")";
}

// Sorted, so that a+b and b+a are the same extent.
DimSpec combined(DimSymbol::Kind kind, int64_t number, std::vector<DimSpec> operands) {
    const bool is_sum = kind == DimSymbol::Kind::kSum;
    std::sort(operands.begin(), operands.end(), [is_sum](const DimSpec& a, const DimSpec& b) {
        const int order = shown(a, is_sum).compare(shown(b, is_sum));
        return order != 0 ? order < 0 : dim_key(a) < dim_key(b);
    });
    const char* const sign = is_sum ? "+" : "*";
    DimSymbol symbol;
    symbol.kind = kind;
    symbol.number = number;
    symbol.text = is_sum || number == 1 ? std::string() : std::to_string(number);
    symbol.key = is_sum ? "(" : "[";
    symbol.key += std::to_string(number);
    for (const DimSpec& operand : operands) {
        symbol.text.append(symbol.text.empty() ? "" : sign).append(shown(operand, is_sum));
        symbol.key.append(sign).append(dim_key(operand));
    }
    if (is_sum && number > 0) {
        symbol.text.append(sign).append(std::to_string(number));
    }
    symbol.key += is_sum ? ")" : "]";
    if (symbol.text.size() > kMaxNameBytes) {
        return DimSpec::unknown();
    }
    symbol.operands = std::move(operands);
    return DimSpec(std::make_shared<const DimSymbol>(std::move(symbol)));
}

}  // namespace

DimSpec add_dims(const DimSpec& a, const DimSpec& b) {
    if (is_unknown(a) || is_unknown(b)) {
        return DimSpec::unknown();
    }
    int64_t number = 0;
    std::vector<DimSpec> terms;
    bool overflows = false;
    for (const DimSpec* dim : {&a, &b}) {
        const DimSymbol* symbol = dim->symbol();
        int64_t term = dim->is_fixed() ? dim->extent() : 0;
        if (find_overflow(*dim) != nullptr) {
            overflows = true;
        } else if (symbol != nullptr && symbol->kind == DimSymbol::Kind::kSum) {
            terms.insert(terms.end(), symbol->operands.begin(), symbol->operands.end());
            term = symbol->number;
        } else if (symbol != nullptr) {
            terms.push_back(*dim);
        }
        overflows = __builtin_add_overflow(number, term, &number) || overflows;
    }
    if (overflows) {
        return terms.empty() ? too_large(a, '+', b) : DimSpec::unknown();
    }
    if (terms.empty()) {
        return DimSpec(number);
    }
    return number == 0 && terms.size() == 1
               ? terms.front()
               : combined(DimSymbol::Kind::kSum, number, std::move(terms));
}

DimSpec multiply_dims(const DimSpec& a, const DimSpec& b) {
    if (a.extent() == 0 || b.extent() == 0) {
        return DimSpec(0);
    }
    DimProduct product;
    product.multiply(a);
    product.multiply(b);
    if (!product.is_known) {
        return DimSpec::unknown();
    }
    if (product.overflows) {
        return product.factors.empty() ? too_large(a, '*', b) : DimSpec::unknown();
    }
    if (product.factors.empty()) {
        return DimSpec(product.number);
    }
    return product.number == 1 && product.factors.size() == 1
               ? product.factors.front()
               : combined(DimSymbol::Kind::kProduct, product.number, std::move(product.factors));
}

bool same_dim(const DimSpec& a, const DimSpec& b) {
    if (a.is_fixed() || b.is_fixed()) {
        return a.extent() == b.extent();
    }
    if (a.symbol() == nullptr || b.symbol() == nullptr) {
        return false;
    }
    return a.symbol() == b.symbol() ? find_overflow(a) == nullptr
                                    : !dim_key(a).empty() && dim_key(a) == dim_key(b);
}

Result<std::optional<std::vector<DimSpec>>> broadcast_dims(const TypeInfo& a, const TypeInfo& b) {
    if (!a.dims || !b.dims) {
        return std::optional<std::vector<DimSpec>>();
    }
    const std::vector<DimSpec>& longer = a.dims->size() >= b.dims->size() ? *a.dims : *b.dims;
    const std::vector<DimSpec>& shorter = a.dims->size() >= b.dims->size() ? *b.dims : *a.dims;
    std::optional<std::vector<DimSpec>> result = longer;
    const size_t offset = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
        DimSpec& x = (*result)[offset + i];
        const DimSpec& y = shorter[i];
        if (same_dim(x, y) || y.extent() == 1) {
            continue;
        }
        if (x.is_fixed() && y.is_fixed() && x.extent() != 1) {
            return invalid_argument("the shapes cannot be broadcast to each other")
                .with_found(a.to_string() + " and " + b.to_string())
                .with_needed("extents that are equal or 1, aligned at the last axis");
        }
        if (x.extent() == 1 || y.is_fixed()) {
            x = y;  // an unknown x can only be the same or 1
        } else if (!x.is_fixed()) {
            x = DimSpec::unknown();
        }
    }
    return result;
}

bool broadcasts_into(const std::vector<DimSpec>& operand, const std::vector<DimSpec>& dims) {
    return operand.size() <= dims.size() &&
           std::equal(operand.rbegin(), operand.rend(), dims.rbegin(),
                      [](const DimSpec& from, const DimSpec& to) {
                          return from.extent() == 1 || same_dim(from, to);
                      });
}

Result<int> normalize_axis(int64_t axis, int rank) {
    if (axis < -rank || axis >= rank) {
        return invalid_argument("the axis is out of range")
            .with_found(std::to_string(axis))
            .with_needed(fmt::format("an axis in [{}, {})", -rank, rank));
    }
    return int(axis < 0 ? axis + rank : axis);
}

}  // namespace leat
