// ResNet-50 v1.5, MobileNetV2 and SqueezeNet 1.1, layer by layer as torchvision has them.
#include <fmt/core.h>

#include "net_builder.h"
#include "networks.h"
#include "parameters.h"

namespace leat::zoo {
namespace {

constexpr int64_t kClasses = 1000;

Image image_input(NetBuilder& net, const Parameters& parameters) {
    int64_t size = parameters["size"];
    ValueId value =
        net.graph().input("input", DType::kFloat32, {parameters.batch(), 3, size, size});
    return {value, 3};
}

Image max_pool(NetBuilder& net, const std::string& name, Image x, int64_t padding, bool ceil_mode) {
    Attributes attributes;
    attributes["kernel_shape"] = std::vector<int64_t>{3, 3};
    attributes["strides"] = std::vector<int64_t>{2, 2};
    attributes["pads"] = std::vector<int64_t>(4, padding);
    attributes["ceil_mode"] = int64_t{ceil_mode ? 1 : 0};
    return {net.graph().add("MaxPool", {x.value}, std::move(attributes), name), x.channels};
}

// 1x1 -> 3x3 (stride) -> 1x1 to 4x the width, plus the shortcut.
Image bottleneck(NetBuilder& net, const std::string& name, Image x, int64_t width, int64_t stride) {
    Image y = net.conv(name + ".conv1", x, {.out_channels = width});
    y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
    y = net.conv(name + ".conv2", y,
                 {.out_channels = width, .kernel = 3, .stride = stride, .padding = 1});
    y = net.relu(name + ".relu2", net.batch_norm(name + ".bn2", y));
    y = net.conv(name + ".conv3", y, {.out_channels = 4 * width});
    // A small last gain keeps the sum over 16 blocks in range.
    y = net.batch_norm(name + ".bn3", y, 0.3F);
    Image shortcut = x;
    if (x.channels != 4 * width) {
        shortcut =
            net.conv(name + ".downsample.0", x, {.out_channels = 4 * width, .stride = stride});
        shortcut = net.batch_norm(name + ".downsample.1", shortcut);
    }
    return net.relu(name + ".relu3", net.add(name + ".add", y, shortcut));
}

// Expansion 1x1 -> depthwise 3x3 -> linear 1x1, plus the input where shapes agree.
Image inverted_residual(NetBuilder& net,
                        const std::string& name,
                        Image x,
                        int64_t expansion,
                        const ConvSpec& depthwise) {
    int64_t hidden = x.channels * expansion;
    Image y = x;
    int stage = 0;
    if (expansion != 1) {
        std::string stem = fmt::format("{}.conv.{}", name, stage++);
        y = net.conv(stem + ".0", y, {.out_channels = hidden});
        y = net.relu6(stem + ".2", net.batch_norm(stem + ".1", y));
    }
    std::string stem = fmt::format("{}.conv.{}", name, stage++);
    y = net.conv(stem + ".0", y,
                 {.out_channels = hidden,
                  .kernel = 3,
                  .stride = depthwise.stride,
                  .padding = 1,
                  .groups = hidden});
    y = net.relu6(stem + ".2", net.batch_norm(stem + ".1", y));
    bool has_shortcut = depthwise.stride == 1 && x.channels == depthwise.out_channels;
    y = net.conv(fmt::format("{}.conv.{}", name, stage), y,
                 {.out_channels = depthwise.out_channels});
    y = net.batch_norm(fmt::format("{}.conv.{}", name, stage + 1), y, has_shortcut ? 0.5F : 1.0F);
    return has_shortcut ? net.add(name + ".add", x, y) : y;
}

// Squeeze 1x1, then 1x1 and 3x3 side by side.
Image fire(NetBuilder& net, const std::string& name, Image x, int64_t squeeze, int64_t expand) {
    Image s = net.conv(name + ".squeeze", x, {.out_channels = squeeze, .bias = true});
    s = net.relu(name + ".squeeze_activation", s);
    Image a = net.conv(name + ".expand1x1", s, {.out_channels = expand, .bias = true});
    a = net.relu(name + ".expand1x1_activation", a);
    Image b = net.conv(name + ".expand3x3", s,
                       {.out_channels = expand, .kernel = 3, .padding = 1, .bias = true});
    b = net.relu(name + ".expand3x3_activation", b);
    ValueId both =
        net.graph().add("Concat", {a.value, b.value}, {{"axis", int64_t{1}}}, name + ".concat");
    return {both, 2 * expand};
}

}  // namespace

Result<Graph> build_resnet50(const Parameters& parameters) {
    NetBuilder net("resnet50", parameters["seed"]);
    Image x = image_input(net, parameters);
    x = net.conv("conv1", x, {.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3});
    x = net.relu("relu", net.batch_norm("bn1", x));
    x = max_pool(net, "maxpool", x, 1, false);
    const int block_counts[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
        for (int block = 0; block < block_counts[stage]; ++block) {
            int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            std::string name = fmt::format("layer{}.{}", stage + 1, block);
            x = bottleneck(net, name, x, int64_t{64} << stage, stride);
        }
    }
    net.graph().output("output", net.classifier("fc", x, kClasses));
    return net.finish();
}

Result<Graph> build_mobilenet_v2(const Parameters& parameters) {
    // Table 2 of arXiv:1801.04381.
    struct Stage {
        int64_t expansion;
        int64_t channels;
        int blocks;
        int64_t stride;
    };
    const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    NetBuilder net("mobilenet_v2", parameters["seed"]);
    Image x = image_input(net, parameters);
    x = net.conv("features.0.0", x, {.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1});
    x = net.relu6("features.0.2", net.batch_norm("features.0.1", x));
    int index = 1;
    for (const Stage& stage : stages) {
        for (int block = 0; block < stage.blocks; ++block) {
            ConvSpec depthwise{.out_channels = stage.channels,
                               .stride = block == 0 ? stage.stride : 1};
            x = inverted_residual(net, fmt::format("features.{}", index++), x, stage.expansion,
                                  depthwise);
        }
    }
    x = net.conv("features.18.0", x, {.out_channels = 1280});
    x = net.relu6("features.18.2", net.batch_norm("features.18.1", x));
    net.graph().output("output", net.classifier("classifier.1", x, kClasses));
    return net.finish();
}

Result<Graph> build_squeezenet1_1(const Parameters& parameters) {
    struct Fire {
        int64_t squeeze;
        int64_t expand;
        int index;
        bool pool_before;
    };
    const Fire fires[] = {{16, 64, 3, true},    {16, 64, 4, false},  {32, 128, 6, true},
                          {32, 128, 7, false},  {48, 192, 9, true},  {48, 192, 10, false},
                          {64, 256, 11, false}, {64, 256, 12, false}};
    NetBuilder net("squeezenet1_1", parameters["seed"]);
    Image x = image_input(net, parameters);
    x = net.conv("features.0", x, {.out_channels = 64, .kernel = 3, .stride = 2, .bias = true});
    x = net.relu("features.1", x);
    for (const Fire& f : fires) {
        if (f.pool_before) {
            x = max_pool(net, fmt::format("features.{}", f.index - 1), x, 0, true);
        }
        x = fire(net, fmt::format("features.{}", f.index), x, f.squeeze, f.expand);
    }
    x = net.conv("classifier.1", x, {.out_channels = kClasses, .bias = true});
    x = net.relu("classifier.2", x);
    ValueId pooled = net.graph().add("GlobalAveragePool", {x.value}, {}, "classifier.3");
    net.graph().output("output",
                       net.graph().add("Flatten", {pooled}, {{"axis", int64_t{1}}}, "flatten"));
    return net.finish();
}

}  // namespace leat::zoo
