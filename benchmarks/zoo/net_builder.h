// NetBuilder: a Graph under construction, with layers that make their own random weights.
//
// Learned parameters are named as PyTorch names them ("layer1.0.conv1.weight"); every other
// constant has a name that begins with "const." or ends in ".running_mean" or ".running_var".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "leat/graph.h"

namespace leat::zoo {

// Uniform random numbers with this mean and standard deviation.
struct Distribution {
    float mean = 0;
    float deviation = 1;
};

// A 4-D activation in building: value and channel count.
struct Image {
    ValueId value;
    int64_t channels = 0;
};

struct ConvSpec {
    int64_t out_channels = 0;
    int64_t kernel = 1;
    int64_t stride = 1;
    int64_t padding = 0;
    int64_t groups = 1;
    bool bias = false;
};

class NetBuilder {
  public:
    NetBuilder(std::string name, int64_t seed);

    Graph& graph() { return graph_; }
    // The finished graph, or the first error (memory).
    Result<Graph> finish();

    // ---- constants ----
    ValueId parameter(const std::string& name, const Shape& shape, Distribution distribution);
    ValueId ints(const std::vector<int64_t>& values);  // 1-D int64, shared by equal contents
    ValueId int_scalar(int64_t value);                 // 0-D int64
    ValueId scalar(float value);                       // 0-D float32
    ValueId floats(const std::string& name, const Shape& shape, const std::vector<float>& values);

    // ---- layers; `name` prefixes the node's and its parameters' names ----
    // He-scaled: keeps the mean square of a rectified input.
    Image conv(const std::string& name, Image x, const ConvSpec& spec);
    // `gain` is the mean of the scale (gamma).
    Image batch_norm(const std::string& name, Image x, float gain = 1.0F);
    Image relu(const std::string& name, Image x);
    Image relu6(const std::string& name, Image x);
    Image add(const std::string& name, Image a, Image b);
    // Global average, Flatten and a fully connected layer.
    ValueId classifier(const std::string& name, Image x, int64_t classes);

    // x [..., in] * weight [in, out] + bias [out]. `gain` multiplies the Xavier deviation
    // 1/sqrt(in).
    ValueId linear(const std::string& name, ValueId x, int64_t in, int64_t out, float gain = 1.0F);
    ValueId layer_norm(const std::string& name, ValueId x, int64_t width, float epsilon);
    // x [batch, tokens, width] -> [batch, heads, tokens, width / heads]
    ValueId split_heads(const std::string& name,
                        ValueId x,
                        const std::vector<int64_t>& split_shape);
    ValueId reshape(const std::string& name, ValueId x, const std::vector<int64_t>& shape);

  private:
    ValueId constant(const std::string& name, Result<Tensor> tensor);

    Graph graph_;
    uint64_t seed_;
    Status status_;
    std::map<std::vector<int64_t>, ValueId> shared_ints_;
    std::map<int64_t, ValueId> shared_int_scalars_;
    std::map<float, ValueId> shared_scalars_;
};

}  // namespace leat::zoo
