// Custom operators that tests use, in the program and in a shared object. Installed headers only.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "leat/custom_operator.h"

namespace leat::testing {

// Outputs are like input 0.
inline Status infer_same(OperatorInference& inference) {
    for (int i = 0; i < inference.output_count(); ++i) {
        inference.set_output(i, inference.dtype(0), inference.dims(0));
    }
    return {};
}

// Output 0 has the elements of input 0, all of them in one tile.
inline Status copy_first(const KernelCall& call) {
    const auto x = call.inputs[0].elements<float>();
    std::copy(x.begin(), x.end(), call.outputs[0].mutable_elements<float>().begin());
    return {};
}

template <class T>
void scale_tile(const KernelCall& call, float factor) {
    const auto x = call.inputs[0].elements<T>();
    const auto y = call.outputs[0].mutable_elements<T>();
    const auto count = int64_t(x.size());
    const int64_t end = count * call.tile_end / call.tile_count;
    for (int64_t i = count * call.tile_begin / call.tile_count; i < end; ++i) {
        y[size_t(i)] = T(x[size_t(i)] * T(factor));
    }
}

inline Status run_scale(const KernelCall& call) {
    const float factor = *call.node.get<float>("factor");
    switch (call.inputs[0].dtype) {
        case DType::kFloat32:
            scale_tile<float>(call, factor);
            return {};
        case DType::kFloat64:
            scale_tile<double>(call, factor);
            return {};
        default:
            scale_tile<int32_t>(call, factor);
            return {};
    }
}

// acme.Scale: y = x * factor, 2 by default.
inline CustomOperator scale_operator() {
    const std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64, DType::kInt32};
    CustomOperator scale;
    scale.domain = "acme";
    scale.name = "Scale";
    scale.inputs = {{.name = "x", .dtypes = dtypes, .type_name = "T"}};
    scale.outputs = {{.name = "y", .dtypes = dtypes, .type_name = "T"}};
    scale.attributes = {
        {.name = "factor", .type = AttributeType::kFloat, .default_value = AttributeValue(2.0F)}};
    scale.infer = infer_same;
    scale.cost = [](const OperatorCall& call) {
        return OperatorCost{double(call.inputs[0].element_count()),
                            8 * call.inputs[0].element_count()};
    };
    scale.in_place_inputs = {0};
    scale.kernels["cpu"] = {.run = run_scale, .tile_count = [](const OperatorCall& call) {
                                return std::max<int64_t>(1, call.inputs[0].element_count() / 16);
                            }};
    return scale;
}

// acme.Parts: positive = max(x, 0), negative = min(x, 0), f32.
inline CustomOperator parts_operator() {
    CustomOperator parts;
    parts.domain = "acme";
    parts.name = "Parts";
    parts.inputs = {{.name = "x", .dtypes = {DType::kFloat32}}};
    parts.outputs = {{.name = "positive"}, {.name = "negative"}};
    parts.infer = infer_same;
    parts.kernels["cpu"] = {.run = [](const KernelCall& call) {
        const auto x = call.inputs[0].elements<float>();
        const auto positive = call.outputs[0].mutable_elements<float>();
        const auto negative = call.outputs[1].mutable_elements<float>();
        for (size_t i = 0; i < x.size(); ++i) {
            positive[i] = std::max(x[i], 0.0F);
            negative[i] = std::min(x[i], 0.0F);
        }
        return Status();
    }};
    return parts;
}

// acme.Biased: y = x + bias[0], or x where there is no bias.
inline CustomOperator biased_operator() {
    CustomOperator biased;
    biased.domain = "acme";
    biased.name = "Biased";
    biased.inputs = {{.name = "x", .type_name = "T"},
                     {.name = "bias", .type_name = "T", .is_optional = true}};
    biased.outputs = {{.name = "y"}};
    biased.infer = infer_same;
    biased.kernels["reference"] = {.run = [](const KernelCall& call) {
        const bool has_bias = call.inputs.size() > 1 && call.inputs[1].present();
        const float bias = has_bias ? call.inputs[1].elements<float>()[0] : 0.0F;
        const auto x = call.inputs[0].elements<float>();
        const auto y = call.outputs[0].mutable_elements<float>();
        std::transform(x.begin(), x.end(), y.begin(), [&](float e) { return e + bias; });
        return Status();
    }};
    return biased;
}

// acme.Repeat: x [n] `times` times one after the other; times is an i64 [1].
inline CustomOperator repeat_operator() {
    CustomOperator repeat;
    repeat.domain = "acme";
    repeat.name = "Repeat";
    repeat.inputs = {{.name = "x", .dtypes = {DType::kFloat32}},
                     {.name = "times", .dtypes = {DType::kInt64}, .decides_shape = true}};
    repeat.outputs = {{.name = "y"}};
    repeat.infer = [](OperatorInference& inference) {
        const auto times = inference.ints(1);
        const auto& dims = inference.dims(0);
        const bool is_known = times && dims && (*dims)[0].is_fixed();
        inference.set_output(
            0, inference.dtype(0),
            std::vector<DimSpec>{is_known ? DimSpec((*dims)[0].extent() * (*times)[0])
                                          : DimSpec::unknown()});
        return Status();
    };
    repeat.kernels["cpu"] = {.run = [](const KernelCall& call) {
        const auto x = call.inputs[0].elements<float>();
        const auto y = call.outputs[0].mutable_elements<float>();
        for (size_t i = 0; i < y.size(); ++i) {
            y[i] = x[i % x.size()];
        }
        return Status();
    }};
    return repeat;
}

// acme.NAME: one input x and a result of its type and shape, by the kernel.
inline CustomOperator same_shape_operator(const char* name,
                                          std::function<Status(const KernelCall&)> run) {
    CustomOperator same;
    same.domain = "acme";
    same.name = name;
    same.inputs = {{.name = "x"}};
    same.outputs = {{.name = "y"}};
    same.infer = infer_same;
    same.kernels["cpu"] = {.run = std::move(run)};
    return same;
}

// acme.Picky: y = x, but throws if x[0] is negative and fails if it is zero.
inline CustomOperator picky_operator() {
    return same_shape_operator("Picky", [](const KernelCall& call) {
        const auto x = call.inputs[0].elements<float>();
        if (x[0] < 0) {
            throw std::runtime_error("x is negative");
        }
        if (x[0] == 0) {
            return Status(StatusCode::kInvalidArgument, "x is zero");
        }
        return copy_first(call);
    });
}

// acme.Fatal: y = x, but the process aborts if x[0] is 1, is killed by a bad address if it is 2,
// hangs if it is 3, and ends with code 5 if it is 4.
inline CustomOperator fatal_operator() {
    return same_shape_operator("Fatal", [](const KernelCall& call) {
        const auto x = call.inputs[0].elements<float>();
        if (x[0] == 1) {
            std::abort();
        }
        if (x[0] == 2) {
            std::raise(SIGSEGV);
        }
        while (x[0] == 3) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
        if (x[0] == 4) {
            std::_Exit(5);
        }
        return copy_first(call);
    });
}

}  // namespace leat::testing
