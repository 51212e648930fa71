// TypeInfo: types of values, and their text form.
#include <array>

#include "graph/graph_data.h"

namespace leat {

TypeInfo::TypeInfo() = default;
TypeInfo::TypeInfo(const TypeInfo&) = default;
TypeInfo::TypeInfo(TypeInfo&&) noexcept = default;
TypeInfo& TypeInfo::operator=(const TypeInfo&) = default;
TypeInfo& TypeInfo::operator=(TypeInfo&&) noexcept = default;
TypeInfo::~TypeInfo() = default;

TypeInfo TypeInfo::tensor(DType dtype, const Shape& shape) {
    TypeInfo type;
    type.dtype = dtype;
    type.dims.emplace(shape.begin(), shape.end());
    return type;
}

TypeInfo TypeInfo::tensor(DType dtype, std::optional<std::vector<DimSpec>> dims) {
    TypeInfo type;
    type.dtype = dtype;
    type.dims = std::move(dims);
    return type;
}

std::optional<Shape> TypeInfo::fixed_shape() const {
    if (!is_tensor() || !dims || dims->size() > size_t(kMaxRank)) {
        return std::nullopt;
    }
    std::array<int64_t, kMaxRank> extents{};
    for (size_t i = 0; i < dims->size(); ++i) {
        extents[i] = (*dims)[i].extent();
    }
    return Shape::make({extents.data(), dims->size()});
}

std::optional<Shape> TypeInfo::least_shape() const {
    if (!is_tensor() || !dims) {
        return std::nullopt;
    }
    std::vector<DimSpec> least = *dims;
    for (DimSpec& dim : least) {
        dim = dim.is_fixed() ? dim : DimSpec(0);
    }
    return tensor(dtype, std::move(least)).fixed_shape();
}

std::string TypeInfo::to_string() const {
    switch (kind) {
        case Kind::kSequence:
            return "seq(" + (element ? element->to_string() : std::string("?")) + ")";
        case Kind::kOptional:
            return "optional(" + (element ? element->to_string() : std::string("?")) + ")";
        case Kind::kMap:
            return "map";
        case Kind::kTensor:
            break;
    }
    std::string text(name_of(dtype));
    if (!dims) {
        return text + "[*]";
    }
    text += '[';
    for (size_t i = 0; i < dims->size(); ++i) {
        const DimSpec& dim = (*dims)[i];
        text += i == 0 ? "" : ",";
        if (dim.is_fixed()) {
            text += std::to_string(dim.extent());
        } else {
            text += dim.name().empty() ? "?" : dim.name();
        }
    }
    return text + ']';
}

}  // namespace leat
