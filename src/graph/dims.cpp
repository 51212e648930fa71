// Arithmetic on symbolic extents, broadcasting, axes.
#include <algorithm>
#include <charconv>

#include "graph/dim_factors.h"
#include "graph/op_def.h"

namespace leat {
namespace {

// Longer expressions say nothing to a reader and grow without end in deep graphs.
constexpr size_t kMaxNameBytes = 80;

DimSpec named(const std::string& name) {
    return name.size() > kMaxNameBytes ? DimSpec::unknown() : DimSpec(std::string_view(name));
}

bool is_number(std::string_view text, int64_t& number) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end && !text.empty();
}

// "seq+3" is "seq" and 3; a name without a trailing number adds 0.
std::pair<std::string_view, int64_t> split_trailing_term(std::string_view name) {
    const size_t plus = name.rfind('+');
    if (plus == std::string_view::npos || plus == 0) {
        return {name, 0};
    }
    int64_t number = 0;
    if (!is_number(name.substr(plus + 1), number) || number < 0) {
        return {name, 0};
    }
    return {name.substr(0, plus), number};
}

// A sum needs parentheses as a factor.
std::string as_factor(const std::string& name) {
    const bool bare = name.find('+') == std::string::npos || name.front() == '(';
    return bare ? name : "(" + name + ")";
}

}  // namespace

DimSpec add_dims(const DimSpec& a, const DimSpec& b) {
    int64_t fixed = 0;
    if (a.is_fixed() && b.is_fixed()) {
        return __builtin_add_overflow(a.extent(), b.extent(), &fixed) ? DimSpec::unknown()
                                                                      : DimSpec(fixed);
    }
    if ((!a.is_fixed() && a.name().empty()) || (!b.is_fixed() && b.name().empty())) {
        return DimSpec::unknown();
    }
    std::vector<std::string_view> terms;
    for (const DimSpec* dim : {&a, &b}) {
        const auto [name, number] = dim->is_fixed()
                                        ? std::pair<std::string_view, int64_t>("", dim->extent())
                                        : split_trailing_term(dim->name());
        if (!name.empty()) {
            terms.push_back(name);
        }
        if (__builtin_add_overflow(fixed, number, &fixed)) {
            return DimSpec::unknown();
        }
    }
    // Sorted, so that a+b and b+a are the same extent.
    std::sort(terms.begin(), terms.end());
    std::string sum;
    for (std::string_view term : terms) {
        sum.append(sum.empty() ? "" : "+").append(term);
    }
    if (fixed > 0) {
        sum.append("+").append(std::to_string(fixed));
    }
    return named(sum);
}

std::vector<std::string_view> dim_factors(const DimSpec& dim) {
    const std::string_view name = dim.name();
    std::vector<std::string_view> factors;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= name.size() && !name.empty(); ++i) {
        depth += i < name.size() && name[i] == '(' ? 1 : 0;
        depth -= i < name.size() && name[i] == ')' ? 1 : 0;
        if (i == name.size() || (name[i] == '*' && depth == 0)) {
            factors.push_back(name.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    // A sum is one factor, with or without parentheses: "a*b+c" is not a product.
    const bool is_sum = std::any_of(factors.begin(), factors.end(), [](std::string_view factor) {
        return factor.empty() ||
               (factor.find('+') != std::string_view::npos && factor.front() != '(');
    });
    return is_sum ? std::vector<std::string_view>{name} : factors;
}

DimSpec multiply_dims(const DimSpec& a, const DimSpec& b) {
    if (a.extent() == 0 || b.extent() == 0) {
        return DimSpec(0);
    }
    int64_t number = 1;
    std::vector<std::string> names;
    for (const DimSpec* dim : {&a, &b}) {
        if (!dim->is_fixed() && dim->name().empty()) {
            return DimSpec::unknown();
        }
        if (dim->is_fixed() && __builtin_mul_overflow(number, dim->extent(), &number)) {
            return DimSpec::unknown();
        }
        for (std::string_view factor : dim_factors(*dim)) {
            int64_t factor_number = 0;
            if (!is_number(factor, factor_number)) {
                names.push_back(as_factor(std::string(factor)));
            } else if (__builtin_mul_overflow(number, factor_number, &number)) {
                return DimSpec::unknown();
            }
        }
    }
    if (names.empty()) {
        return DimSpec(number);
    }
    // Sorted, so that a*b and b*a are the same extent.
    std::sort(names.begin(), names.end());
    if (number == 1 && names.size() == 1) {
        return a.extent() == 1 ? b : a;
    }
    std::string product = number == 1 ? std::string() : std::to_string(number);
    for (const std::string& name : names) {
        product += (product.empty() ? "" : "*") + name;
    }
    return named(product);
}

bool same_dim(const DimSpec& a, const DimSpec& b) {
    if (a.is_fixed() || b.is_fixed()) {
        return a.extent() == b.extent();
    }
    return !a.name().empty() && a.name() == b.name();
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
