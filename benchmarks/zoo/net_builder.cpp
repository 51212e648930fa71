#include "net_builder.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace leat::zoo {
namespace {

// FNV-1a: the stream of a tensor depends on its name, not on the order of building.
uint64_t hash_name(std::string_view name, uint64_t seed) {
    uint64_t hash = 0xcbf29ce484222325U ^ (seed * 0x9e3779b97f4a7c15U);
    for (char c : name) {
        hash = (hash ^ uint8_t(c)) * 0x100000001b3U;
    }
    return hash ^ (hash >> 32);
}

// A counter-based generator, 32 bits wide so that the loop becomes vector code: element i is a hash
// ("lowbias32", C. Wellons) of i and the stream.
void fill_random(float* values, int64_t count, uint32_t stream, Distribution distribution) {
    float half_range =
        distribution.deviation * 1.7320508F;  // uniform on [-h, h] has deviation h / sqrt 3
    float scale = half_range * 0x1p-31F;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t x = uint32_t(i) + stream;
        x = (x ^ (x >> 16)) * 0x7feb352dU;
        x = (x ^ (x >> 15)) * 0x846ca68bU;
        x ^= x >> 16;
        values[i] = distribution.mean + float(int32_t(x)) * scale;
    }
}

}  // namespace

NetBuilder::NetBuilder(std::string name, int64_t seed)
    : graph_(std::move(name)), seed_(uint64_t(seed)) {}

Result<Graph> NetBuilder::finish() {
    if (!status_.ok()) {
        return status_;
    }
    return std::move(graph_);
}

ValueId NetBuilder::constant(const std::string& name, Result<Tensor> tensor) {
    if (!tensor.ok()) {
        if (status_.ok()) {
            status_ = tensor.error();
        }
        return ValueId{};
    }
    return graph_.constant(name, std::move(tensor).value());
}

ValueId NetBuilder::parameter(const std::string& name,
                              const Shape& shape,
                              Distribution distribution) {
    Result<Tensor> tensor = Tensor::allocate(DType::kFloat32, shape);
    if (tensor.ok()) {
        fill_random(tensor->mutable_data<float>().data(), tensor->element_count(),
                    uint32_t(hash_name(name, seed_)), distribution);
    }
    return constant(name, std::move(tensor));
}

ValueId NetBuilder::ints(const std::vector<int64_t>& values) {
    auto [place, is_new] = shared_ints_.try_emplace(values);
    if (is_new) {
        std::string name = "const.ints";
        for (int64_t value : values) {
            name += fmt::format(".{}", value);
        }
        place->second = constant(name, Tensor::from(Shape{int64_t(values.size())}, values));
    }
    return place->second;
}

ValueId NetBuilder::int_scalar(int64_t value) {
    auto [place, is_new] = shared_int_scalars_.try_emplace(value);
    if (is_new) {
        place->second = constant(fmt::format("const.int.{}", value),
                                 Tensor::from(Shape{}, std::vector<int64_t>{value}));
    }
    return place->second;
}

ValueId NetBuilder::scalar(float value) {
    auto [place, is_new] = shared_scalars_.try_emplace(value);
    if (is_new) {
        place->second = constant(fmt::format("const.float.{}", value),
                                 Tensor::from(Shape{}, std::vector<float>{value}));
    }
    return place->second;
}

ValueId NetBuilder::floats(const std::string& name,
                           const Shape& shape,
                           const std::vector<float>& values) {
    return constant("const." + name, Tensor::from(shape, values));
}

Image NetBuilder::conv(const std::string& name, Image x, const ConvSpec& spec) {
    int64_t in_channels = x.channels / spec.groups;
    auto fan_in = float(in_channels * spec.kernel * spec.kernel);
    std::vector<ValueId> inputs{
        x.value,
        parameter(name + ".weight", {spec.out_channels, in_channels, spec.kernel, spec.kernel},
                  {0, std::sqrt(2.0F / fan_in)})};
    if (spec.bias) {
        inputs.push_back(parameter(name + ".bias", {spec.out_channels}, {0, 0.05F}));
    }
    Attributes attributes;
    attributes["kernel_shape"] = std::vector<int64_t>{spec.kernel, spec.kernel};
    attributes["strides"] = std::vector<int64_t>{spec.stride, spec.stride};
    attributes["pads"] = std::vector<int64_t>(4, spec.padding);
    attributes["dilations"] = std::vector<int64_t>{1, 1};
    attributes["group"] = spec.groups;
    return {graph_.add("Conv", std::move(inputs), std::move(attributes), name), spec.out_channels};
}

Image NetBuilder::batch_norm(const std::string& name, Image x, float gain) {
    Shape shape{x.channels};
    std::vector<ValueId> inputs{x.value, parameter(name + ".weight", shape, {gain, 0.1F * gain}),
                                parameter(name + ".bias", shape, {0, 0.1F}),
                                parameter(name + ".running_mean", shape, {0, 0.1F}),
                                parameter(name + ".running_var", shape, {1, 0.1F})};
    return {graph_.add("BatchNormalization", std::move(inputs), {{"epsilon", 1e-5F}}, name),
            x.channels};
}

Image NetBuilder::relu(const std::string& name, Image x) {
    return {graph_.add("Relu", {x.value}, {}, name), x.channels};
}

Image NetBuilder::relu6(const std::string& name, Image x) {
    return {graph_.add("Clip", {x.value, scalar(0), scalar(6)}, {}, name), x.channels};
}

Image NetBuilder::add(const std::string& name, Image a, Image b) {
    return {graph_.add("Add", {a.value, b.value}, {}, name), a.channels};
}

ValueId NetBuilder::classifier(const std::string& name, Image x, int64_t classes) {
    ValueId pooled = graph_.add("GlobalAveragePool", {x.value}, {}, "avgpool");
    ValueId flat = graph_.add("Flatten", {pooled}, {{"axis", int64_t{1}}}, "flatten");
    ValueId weight = parameter(name + ".weight", {classes, x.channels},
                               {0, 1.0F / std::sqrt(float(x.channels))});
    ValueId bias = parameter(name + ".bias", {classes}, {0, 0.05F});
    return graph_.add("Gemm", {flat, weight, bias}, {{"transB", int64_t{1}}}, name);
}

ValueId NetBuilder::linear(
    const std::string& name, ValueId x, int64_t in, int64_t out, float gain) {
    ValueId weight = parameter(name + ".weight", {in, out}, {0, gain / std::sqrt(float(in))});
    ValueId bias = parameter(name + ".bias", {out}, {0, 0.05F * gain});
    ValueId product = graph_.add("MatMul", {x, weight}, {}, name + ".matmul");
    return graph_.add("Add", {product, bias}, {}, name + ".add");
}

ValueId NetBuilder::layer_norm(const std::string& name, ValueId x, int64_t width, float epsilon) {
    ValueId weight = parameter(name + ".weight", {width}, {1, 0.1F});
    ValueId bias = parameter(name + ".bias", {width}, {0, 0.1F});
    return graph_.add("LayerNormalization", {x, weight, bias},
                      {{"axis", int64_t{-1}}, {"epsilon", epsilon}}, name);
}

ValueId NetBuilder::split_heads(const std::string& name,
                                ValueId x,
                                const std::vector<int64_t>& split_shape) {
    ValueId split = reshape(name + ".reshape", x, split_shape);
    return graph_.add("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}},
                      name + ".transpose");
}

ValueId NetBuilder::reshape(const std::string& name, ValueId x, const std::vector<int64_t>& shape) {
    return graph_.add("Reshape", {x, ints(shape)}, {}, name);
}

}  // namespace leat::zoo
