// Convolutions with bias and Relu against the machine's own multiply-add peak.
#include <fmt/core.h>

#include "kernel_run.h"

namespace leat::micro {
namespace {

struct Layer {
    const char* name = nullptr;
    int64_t channels = 0;
    int64_t image = 0;
    int64_t outputs = 0;
    int64_t kernel = 0;
    int64_t stride = 1;
    int64_t groups = 1;
};

constexpr Layer kLayers[] = {
    // ResNet-50
    {"stem_7x7s2_3_64_224", 3, 224, 64, 7, 2},
    {"1x1_64_64_56", 64, 56, 64, 1},
    {"3x3_64_56", 64, 56, 64, 3},
    {"1x1_64_256_56", 64, 56, 256, 1},
    {"1x1_256_64_56", 256, 56, 64, 1},
    {"3x3s2_128_56", 128, 56, 128, 3, 2},
    {"3x3_128_28", 128, 28, 128, 3},
    {"1x1_512_128_28", 512, 28, 128, 1},
    {"1x1s2_256_512_56", 256, 56, 512, 1, 2},
    {"3x3_256_14", 256, 14, 256, 3},
    {"1x1_1024_256_14", 1024, 14, 256, 1},
    {"3x3_512_7", 512, 7, 512, 3},
    {"1x1_2048_512_7", 2048, 7, 512, 1},
    {"1x1_512_2048_7", 512, 7, 2048, 1},
    // MobileNetV2 and ShuffleNet
    {"1x1_24_144_56", 24, 56, 144, 1},
    {"1x1_144_24_56", 144, 56, 24, 1},
    {"1x1_320_1280_7", 320, 7, 1280, 1},
    {"stem_3x3s2_3_32_224", 3, 224, 32, 3, 2},
    {"group3_1x1_240_60_28", 240, 28, 60, 1, 1, 3},
    {"group32_3x3_128_56", 128, 56, 128, 3, 1, 32},
    {"depthwise_3x3_32_112", 32, 112, 32, 3, 1, 32},
    {"depthwise_3x3s2_96_112", 96, 112, 96, 3, 2, 96},
    {"depthwise_3x3_144_56", 144, 56, 144, 3, 1, 144},
    {"depthwise_3x3_384_14", 384, 14, 384, 3, 1, 384},
    {"depthwise_5x5_120_28", 120, 28, 120, 5, 1, 120},
    {"depthwise_7x7_96_56", 96, 56, 96, 7, 1, 96},
    {"depthwise_3x3_960_7", 960, 7, 960, 3, 1, 960},
};

void conv(benchmark::State& state, const Layer& layer) {
    const int64_t pad = layer.kernel / 2;
    const int64_t out = (layer.image + 2 * pad - layer.kernel) / layer.stride + 1;
    const int64_t group_channels = layer.channels / layer.groups;
    const Attributes attributes = {{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                                   {"strides", std::vector<int64_t>{layer.stride, layer.stride}},
                                   {"group", layer.groups}};
    EpilogueStep relu;
    relu.op = find_op("", "Relu");
    const KernelRun run("Conv",
                        {{{1, layer.channels, layer.image, layer.image}, false, true},
                         {{layer.outputs, group_channels, layer.kernel, layer.kernel}, true},
                         {{layer.outputs}, true}},
                        {{1, layer.outputs, out, out}, false, true}, attributes, {relu}, 3);
    measure_flops(
        state, run,
        2.0 * double(out * out * layer.outputs * group_channels * layer.kernel * layer.kernel));
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    for (const leat::micro::Layer& layer : leat::micro::kLayers) {
        benchmark::RegisterBenchmark(
            (std::string("conv/") + layer.name).c_str(),
            [&layer](benchmark::State& state) { leat::micro::conv(state, layer); })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond)
            ->MinTime(0.2);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
