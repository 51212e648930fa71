#include "ops/ml/label_encoder.h"

#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

constexpr DTypeSet kLabelTypes = dtype_set(
    DType::kString, DType::kInt64, DType::kFloat32, DType::kInt32, DType::kInt16, DType::kFloat64);

template <class T>
LabelList list_of(const std::vector<T>& elements) {
    return {kDTypeOf<T>,
            int64_t(elements.size()),
            reinterpret_cast<const std::byte*>(elements.data()),
            {}};
}

Result<LabelList> list_of(const Tensor& tensor, std::string_view what) {
    if (!contains(kLabelTypes, tensor.dtype())) {
        return invalid_argument("attribute {} has an element type that is not supported", what)
            .with_found(std::string(name_of(tensor.dtype())))
            .with_needed("string, i64, f32, i32, i16 or f64");
    }
    LabelList list{tensor.dtype(), tensor.element_count(), nullptr, {}};
    LEAT_ASSIGN_OR_RETURN(list.keeper, aligned(tensor));
    list.data = list.keeper.bytes();
    return list;
}

// The one of prefix_strings, _int64s, _floats and _tensor that there is.
Result<LabelList> find_list(const NodeData& node, const std::string& prefix) {
    std::vector<LabelList> found;
    if (const auto* strings = node.strings(prefix + "_strings")) {
        found.push_back(list_of(*strings));
    }
    if (const auto* int64s = node.ints(prefix + "_int64s")) {
        found.push_back(list_of(*int64s));
    }
    if (const auto* floats = node.floats(prefix + "_floats")) {
        found.push_back(list_of(*floats));
    }
    if (const Tensor* tensor = node.tensor(prefix + "_tensor")) {
        LEAT_ASSIGN_OR_RETURN(LabelList list, list_of(*tensor, prefix + "_tensor"));
        found.push_back(std::move(list));
    }
    // An empty list beside another is as good as none: the attributes have no other way to say so.
    std::erase_if(found, [&](const LabelList& list) { return list.count == 0; });
    if (found.size() != 1) {
        return invalid_argument(
                   "the node needs one of attributes {}_strings, {}_int64s, "
                   "{}_floats and {}_tensor",
                   prefix, prefix, prefix, prefix)
            .with_found(found.empty() ? "none with elements" : std::to_string(found.size()));
    }
    return std::move(found.front());
}

template <class T>
Result<LabelList> single(T value) {
    LabelList list{kDTypeOf<T>, 1, nullptr, {}};
    LEAT_ASSIGN_OR_RETURN(list.keeper, Tensor::from<T>({1}, std::span<const T>(&value, 1)));
    list.data = list.keeper.bytes();
    return list;
}

Result<LabelList> find_fallback(const NodeData& node, DType dtype, bool is_tensor) {
    if (const Tensor* given = node.tensor("default_tensor"); given != nullptr && is_tensor) {
        LEAT_ASSIGN_OR_RETURN(LabelList list, list_of(*given, "default_tensor"));
        if (list.dtype != dtype || list.count != 1) {
            return invalid_argument("attribute default_tensor does not fit the values")
                .with_found(fmt::format("{}, {} elements", name_of(list.dtype), list.count))
                .with_needed(fmt::format("one element of {}", name_of(dtype)));
        }
        return list;
    }
    constexpr int64_t kNoInt = -1;
    constexpr float kNoFloat = -0.0F;
    switch (dtype) {
        case DType::kString:
            return single<std::string>(node.attr("default_string", "_Unused"));
        case DType::kInt64:
            return single(is_tensor ? kNoInt : node.attr("default_int64", kNoInt));
        case DType::kFloat32:
            return single(is_tensor ? kNoFloat : node.attr("default_float", kNoFloat));
        case DType::kFloat64:
            return single(double(kNoFloat));
        case DType::kInt32:
            return single(int32_t{-1});
        default:
            return single(int16_t{-1});
    }
}

// Two lists that stand for each other, by the type of x.
Result<LabelForm> form_between(const NodeData& node, DType x, LabelList strings, LabelList ints) {
    LabelForm form;
    if (x == DType::kString) {
        form.keys = std::move(strings);
        form.values = std::move(ints);
    } else {
        form.keys = std::move(ints);
        form.values = std::move(strings);
    }
    LEAT_ASSIGN_OR_RETURN(form.fallback, find_fallback(node, form.values.dtype, false));
    return form;
}

Status check_counts(const LabelForm& form) {
    if (form.keys.count != form.values.count) {
        return invalid_argument("the keys and the values are not equally many")
            .with_found(fmt::format("{} and {}", form.keys.count, form.values.count));
    }
    return {};
}

// The same for numbers that are equal, and for all NaNs.
uint64_t number_bits(DType dtype, const std::byte* data, int64_t i) {
    if (!contains(kFloatTypes, dtype)) {
        return uint64_t(load_integer(dtype, data, i));
    }
    const double value = load_real(dtype, data, i);
    return std::bit_cast<uint64_t>(value == 0       ? 0.0
                                   : value != value ? std::numeric_limits<double>::quiet_NaN()
                                                    : value);
}

}  // namespace

Result<LabelForm> label_form(const NodeData& node, DType x) {
    LabelForm form;
    if (node.op_type == "CategoryMapper") {
        static const std::vector<std::string> kNoStrings;
        static const std::vector<int64_t> kNoInts;
        const auto* strings = node.strings("cats_strings");
        const auto* ints = node.ints("cats_int64s");
        LEAT_ASSIGN_OR_RETURN(form, form_between(node, x, list_of(strings ? *strings : kNoStrings),
                                                 list_of(ints ? *ints : kNoInts)));
    } else if (const auto* classes = node.strings("classes_strings")) {
        LabelList numbers{DType::kInt64, int64_t(classes->size()), nullptr, {}};
        LEAT_ASSIGN_OR_RETURN(form, form_between(node, x, list_of(*classes), std::move(numbers)));
    } else {
        LEAT_ASSIGN_OR_RETURN(form.keys, find_list(node, "keys"));
        LEAT_ASSIGN_OR_RETURN(form.values, find_list(node, "values"));
        LEAT_ASSIGN_OR_RETURN(
            form.fallback,
            find_fallback(node, form.values.dtype, node.tensor("values_tensor") != nullptr));
    }
    LEAT_RETURN_IF_ERROR(check_counts(form));
    return form;
}

Result<LabelMap> LabelMap::make(const NodeData& node, DType x) {
    return catch_bad_alloc("store labels", [&]() -> Result<LabelMap> {
        LabelMap map;
        LEAT_ASSIGN_OR_RETURN(map.form_, label_form(node, x));
        for (int64_t key = 0; key < map.form_.keys.count; ++key) {
            map.add(key);
        }
        return map;
    });
}

void LabelMap::add(int64_t key) {
    const LabelList& keys = form_.keys;
    if (keys.dtype == DType::kString) {
        strings_[reinterpret_cast<const std::string*>(keys.data)[key]] = key;
    } else {
        numbers_[keys.data == nullptr ? uint64_t(key) : number_bits(keys.dtype, keys.data, key)] =
            key;
    }
}

int64_t LabelMap::find(const TensorArg& x, int64_t i) const {
    if (x.dtype == DType::kString) {
        const auto found = strings_.find(x.as<const std::string>()[i]);
        return found == strings_.end() ? kNone : found->second;
    }
    const auto found = numbers_.find(number_bits(x.dtype, x.data, i));
    return found == numbers_.end() ? kNone : found->second;
}

void LabelMap::map(const TensorArg& x, const TensorArg& y, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
        const int64_t key = find(x, i);
        if (key == kNone) {
            copy_elements(y.dtype, form_.fallback.data, 0, y.data, i, 1);
        } else if (form_.values.data == nullptr) {
            y.as<int64_t>()[i] = key;
        } else {
            copy_elements(y.dtype, form_.values.data, key, y.data, i, 1);
        }
    }
}

Status label_encoder_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const LabelMap map, LabelMap::make(args.node, x.dtype));
    return catch_bad_alloc("map labels", [&]() -> Status {
        map.map(x, args.outputs[0], 0, x.shape.element_count());
        return {};
    });
}

}  // namespace leat
