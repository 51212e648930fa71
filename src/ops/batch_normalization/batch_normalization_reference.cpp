#include <cmath>
#include <vector>

#include "graph/op_def.h"
#include "ops/batch_normalization/batch_normalization.h"
#include "ops/element.h"

namespace leat {

namespace {

using Channels = std::vector<double>;

// [n, c, plane] of x; a tensor of rank 1 has one channel.
struct Planes {
    int64_t batch = 1;
    int64_t channels = 1;
    int64_t plane = 1;

    static Planes make(const Shape& x) {
        if (x.rank() == 1) {
            return {x[0], 1, 1};
        }
        return {x[0], x[1], x.element_count(2, x.rank())};
    }
};

Status load_channels(const TensorArg& arg, Channels& values) {
    values.resize(size_t(arg.shape.element_count()));
    return dispatch_float(arg.dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = widen(arg.as<const T>()[i]);
        }
        return Status();
    });
}

Status store_channels(const TensorArg& arg, const Channels& values) {
    return dispatch_float(arg.dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        for (size_t i = 0; i < values.size(); ++i) {
            arg.as<T>()[i] = narrow<T>(values[i]);
        }
        return Status();
    });
}

// f(c, value) for all elements of x.
template <class T, class F>
void visit(const T* x, const Planes& planes, F&& f) {
    for (int64_t i = 0; i < planes.batch * planes.channels; ++i) {
        const auto c = size_t(i % planes.channels);
        for (int64_t p = 0; p < planes.plane; ++p) {
            f(c, widen(*x++));
        }
    }
}

// Mean and population variance of each channel.
template <class T>
void batch_moments(const T* x, const Planes& planes, Channels& mean, Channels& variance) {
    const double count = double(planes.batch) * double(planes.plane);
    mean.assign(size_t(planes.channels), 0.0);
    variance.assign(size_t(planes.channels), 0.0);
    visit(x, planes, [&](size_t c, double value) { mean[c] += value; });
    for (double& value : mean) {
        value /= count;
    }
    visit(x, planes,
          [&](size_t c, double value) { variance[c] += (value - mean[c]) * (value - mean[c]); });
    for (double& value : variance) {
        value /= count;
    }
}

// Writes momentum * old + (1 - momentum) * current.
Status store_running(const TensorArg& output,
                     const Channels& old,
                     const Channels& current,
                     double momentum) {
    Channels running(old.size());
    for (size_t c = 0; c < running.size(); ++c) {
        running[c] = momentum * old[c] + (1.0 - momentum) * current[c];
    }
    return store_channels(output, running);
}

template <class T>
void normalize(const ReferenceArgs& args,
               const Planes& planes,
               const Channels& factor,
               const Channels& offset) {
    T* y = args.outputs[0].as<T>();
    visit(args.inputs[0].as<const T>(), planes,
          [&](size_t c, double value) { *y++ = narrow<T>(value * factor[c] + offset[c]); });
}

template <class T>
Status run_batch_normalization(const ReferenceArgs& args) {
    const Planes planes = Planes::make(args.inputs[0].shape);
    const auto epsilon = double(args.node.attr("epsilon", 1e-5F));
    std::array<Channels, 5> in;
    for (size_t i = 1; i < in.size(); ++i) {
        LEAT_RETURN_IF_ERROR(load_channels(args.inputs[i], in[i]));
    }
    Channels mean = in[3];
    Channels variance = in[4];
    if (args.node.attr("training_mode", int64_t{0}) != 0) {
        const auto momentum = double(args.node.attr("momentum", 0.9F));
        batch_moments(args.inputs[0].as<const T>(), planes, mean, variance);
        if (const TensorArg* to = find_arg(args.outputs, 1)) {
            LEAT_RETURN_IF_ERROR(store_running(*to, in[3], mean, momentum));
        }
        if (const TensorArg* to = find_arg(args.outputs, 2)) {
            LEAT_RETURN_IF_ERROR(store_running(*to, in[4], variance, momentum));
        }
    }
    Channels factor(mean.size());
    Channels offset(mean.size());
    for (size_t c = 0; c < factor.size(); ++c) {
        factor[c] = in[1][c] / std::sqrt(variance[c] + epsilon);
        offset[c] = in[2][c] - mean[c] * factor[c];
    }
    normalize<T>(args, planes, factor, offset);
    return {};
}

}  // namespace

Status batch_normalization_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_batch_normalization<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
