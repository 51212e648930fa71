#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/out_of_memory.h"
#include "ops/ml/ml.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

// Element i of a list that has one number for all, or one for each index of the last axis.
template <class T>
T feature_of(const std::vector<T>& list, int64_t i) {
    return list[list.size() == 1 ? 0 : size_t(i) % list.size()];
}

double norm_of(const std::string& norm, const TensorArg& x, int64_t begin, int64_t count) {
    double sum = norm == "MAX" ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = begin; i < begin + count; ++i) {
        const double value = load_ml(x, i);
        sum = norm == "MAX"  ? std::max(sum, value)
              : norm == "L1" ? sum + std::fabs(value)
                             : sum + value * value;
    }
    const double divisor = norm == "L2" ? std::sqrt(sum) : sum;
    return divisor == 0 ? 1 : divisor;
}

// A real number without its fraction; of what no i64 holds the nearest one.
int64_t whole_number(const TensorArg& x, int64_t i) {
    if (!contains(kFloatTypes, x.dtype)) {
        return load_integer(x.dtype, x.data, i);
    }
    int64_t whole = 0;
    store_real(DType::kInt64, reinterpret_cast<std::byte*>(&whole), 0, load_ml(x, i));
    return whole;
}

Status unknown_category(int64_t element, const std::string& found) {
    return invalid_argument("element {} of the input is no category", element)
        .with_found(found)
        .with_needed("one of the attribute's, or zeros = 1");
}

Status run_one_hot_encoder(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    auto* const y = args.outputs[0].as<float>();
    const bool allows_zeros = args.node.attr("zeros", int64_t{1}) != 0;
    std::unordered_map<std::string_view, int64_t> texts;
    std::unordered_map<int64_t, int64_t> numbers;
    int64_t count = 0;
    if (x.dtype == DType::kString) {
        for (const std::string& text : *args.node.strings("cats_strings")) {
            texts[text] = count++;
        }
    } else {
        for (const int64_t number : *args.node.ints("cats_int64s")) {
            numbers[number] = count++;
        }
    }
    const auto find = [](const auto& map, const auto& key) {
        const auto found = map.find(key);
        return found == map.end() ? int64_t{-1} : found->second;
    };
    std::fill_n(y, x.shape.element_count() * count, 0.0F);
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        const bool is_text = x.dtype == DType::kString;
        const int64_t category =
            is_text ? find(texts, x.as<const std::string>()[i]) : find(numbers, whole_number(x, i));
        if (category >= 0) {
            y[i * count + category] = 1;
        } else if (!allows_zeros) {
            return unknown_category(i, is_text ? "'" + x.as<const std::string>()[i] + "'"
                                               : std::to_string(whole_number(x, i)));
        }
    }
    return {};
}

}  // namespace

Status array_feature_extractor_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const auto* const indices = args.inputs[1].as<const int64_t>();
    const int64_t count = args.inputs[1].shape.element_count();
    const int64_t extent = last_extent(x.shape);
    for (int64_t k = 0; k < count; ++k) {
        if (indices[k] < 0 || indices[k] >= extent) {
            return invalid_argument("element {} of Y is no index of the last axis of X", k)
                .with_found(std::to_string(indices[k]))
                .with_needed(fmt::format("0 to {}", extent - 1));
        }
    }
    const int64_t rows = x.shape.element_count(0, x.shape.rank() - 1);
    const TensorArg& z = args.outputs[0];
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t k = 0; k < count; ++k) {
            copy_elements(x.dtype, x.data, row * extent + indices[k], z.data, row * count + k, 1);
        }
    }
    return {};
}

Status binarizer_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const auto threshold = double(args.node.attr("threshold", 0.0F));
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        store_real(y.dtype, y.data, i, load_ml(x, i) > threshold ? 1 : 0);
    }
    return {};
}

Status scaler_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const std::vector<float>* const offset = args.node.floats("offset");
    const std::vector<float>* const scale = args.node.floats("scale");
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        const double moved =
            load_ml(x, i) - (offset == nullptr ? 0 : double(feature_of(*offset, i)));
        args.outputs[0].as<float>()[i] =
            float(moved * (scale == nullptr ? 1 : double(feature_of(*scale, i))));
    }
    return {};
}

Status normalizer_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const std::string norm = args.node.attr("norm", "MAX");
    const int64_t count = last_extent(x.shape);
    for (int64_t begin = 0; begin < x.shape.element_count(); begin += count) {
        const double divisor = norm_of(norm, x, begin, count);
        for (int64_t i = begin; i < begin + count; ++i) {
            args.outputs[0].as<float>()[i] = float(load_ml(x, i) / divisor);
        }
    }
    return {};
}

Status imputer_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t count = x.shape.element_count();
    if (contains(kFloatTypes, x.dtype)) {
        const std::vector<float>& imputed = *args.node.floats("imputed_value_floats");
        const auto replaced = double(args.node.attr("replaced_value_float", 0.0F));
        for (int64_t i = 0; i < count; ++i) {
            const double value = load_ml(x, i);
            const bool is_replaced = value == replaced || (value != value && replaced != replaced);
            store_real(y.dtype, y.data, i, is_replaced ? double(feature_of(imputed, i)) : value);
        }
        return {};
    }
    const std::vector<int64_t>& imputed = *args.node.ints("imputed_value_int64s");
    const int64_t replaced = args.node.attr("replaced_value_int64", int64_t{0});
    for (int64_t i = 0; i < count; ++i) {
        const int64_t value = load_integer(x.dtype, x.data, i);
        store_integer(y.dtype, y.data, i, value == replaced ? feature_of(imputed, i) : value);
    }
    return {};
}

Status feature_vectorizer_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const int64_t width = last_extent(y.shape);
    const std::vector<int64_t>* const widths = args.node.ints("inputdimensions");
    std::fill_n(y.as<float>(), y.shape.element_count(), 0.0F);
    int64_t begin = 0;
    for (size_t k = 0; k < args.inputs.size(); ++k) {
        const TensorArg& x = args.inputs[k];
        const int64_t own = last_extent(x.shape);
        const int64_t wanted = widths == nullptr ? own : (*widths)[k];
        for (int64_t row = 0; row < y.shape[0]; ++row) {
            for (int64_t i = 0; i < std::min(own, wanted); ++i) {
                y.as<float>()[row * width + begin + i] = float(load_ml(x, row * own + i));
            }
        }
        begin += wanted;
    }
    return {};
}

Status one_hot_encoder_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("encode categories", [&] { return run_one_hot_encoder(args); });
}

}  // namespace leat
