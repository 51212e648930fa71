#include "small_detector.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "base/split_mix.h"
#include "leat/tensor.h"

namespace leat::micro {
namespace {

constexpr int64_t kClasses = 4;
constexpr int64_t kAnchors = 4;
constexpr int64_t kCells = int64_t{20} * 20;
constexpr int64_t kMostBoxesPerClass = 20;

class Builder {
  public:
    Graph build() {
        ValueId features = graph_.input("image", DType::kFloat32,
                                        {DimSpec(1), DimSpec(3), DimSpec(320), DimSpec(320)});
        int64_t channels = 3;
        for (const int64_t filters : {16, 32, 64, 96}) {
            features = relu(convolution(features, channels, filters, 3, 2));
            features = relu(convolution(features, filters, filters, 3, 1));
            channels = filters;
        }
        const ValueId scores =
            add("Sigmoid",
                {rows_of(head(features, channels, kClasses), {1, kClasses, kAnchors * kCells})});
        const ValueId boxes = rows_of(
            add("Transpose", {rows_of(head(features, channels, 4), {1, 4, kAnchors * kCells})},
                {{"perm", std::vector<int64_t>{0, 2, 1}}}),
            {1, kAnchors * kCells, 4});
        find(boxes, scores);
        return std::move(graph_);
    }

  private:
    ValueId add(std::string_view op,
                const std::vector<ValueId>& inputs,
                Attributes attributes = {}) {
        return graph_.add(op, inputs, std::move(attributes));
    }

    ValueId constant(Tensor value) {
        return graph_.constant(fmt::format("c{}", constants_++), std::move(value));
    }
    ValueId ints(const std::vector<int64_t>& elements) {
        return constant(*Tensor::from<int64_t>({int64_t(elements.size())}, elements));
    }
    ValueId number(float value) {
        return constant(*Tensor::from<float>({1}, std::vector<float>{value}));
    }

    ValueId relu(ValueId x) { return add("Relu", {x}); }

    ValueId convolution(
        ValueId x, int64_t channels, int64_t filters, int64_t kernel, int64_t stride) {
        Tensor weights = *Tensor::allocate(DType::kFloat32, {filters, channels, kernel, kernel});
        const float scale = std::sqrt(6.0F / float(channels * kernel * kernel));
        for (float& weight : weights.mutable_data<float>()) {
            weight = scale * (float(random_.next() % 2001) / 1000 - 1);
        }
        const int64_t pad = kernel / 2;
        return add("Conv", {x, constant(std::move(weights))},
                   {{"strides", std::vector<int64_t>{stride, stride}},
                    {"pads", std::vector<int64_t>{pad, pad, pad, pad}}});
    }

    // per_anchor numbers of each cell and anchor.
    ValueId head(ValueId features, int64_t channels, int64_t per_anchor) {
        return convolution(features, channels, kAnchors * per_anchor, 1, 1);
    }

    ValueId rows_of(ValueId x, const std::vector<int64_t>& shape) {
        return add("Reshape", {x, ints(shape)});
    }

    void find(ValueId boxes, ValueId scores) {
        const ValueId found = add("NonMaxSuppression", {boxes, scores, ints({kMostBoxesPerClass}),
                                                        number(0.5F), number(0.6F)});
        const ValueId at = add("Gather", {found, ints({2})}, {{"axis", int64_t{1}}});
        const ValueId index = rows_of(at, {-1});
        graph_.output("boxes", add("Gather", {rows_of(boxes, {-1, 4}), index}));
        // Of the class and the box that were found.
        const ValueId pairs = add("Gather", {found, ints({1, 2})}, {{"axis", int64_t{1}}});
        const ValueId found_scores =
            add("GatherND", {rows_of(scores, {kClasses, kAnchors * kCells}), pairs});
        graph_.output("scores", found_scores);

        const ValueId flat = rows_of(scores, {-1});
        const ValueId strong =
            rows_of(add("NonZero", {add("Greater", {flat, number(0.9F)})}), {-1});
        const ValueId strong_scores = add("Gather", {flat, strong});
        graph_.output("strong", strong_scores);
        graph_.output("best", best_of(found_scores));
    }

    // The largest, or 0 where there is none.
    ValueId best_of(ValueId scores) {
        const ValueId count = add("Size", {scores});
        const ValueId is_any =
            add("Greater", {count, constant(*Tensor::from<int64_t>({}, std::vector<int64_t>{0}))});
        Graph some("some");
        const ValueId all = some.capture(graph_, scores);
        some.output(
            "best",
            some.add(
                "ReduceMax",
                {all, some.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{0}))},
                {{"keepdims", int64_t{1}}}));
        Graph none("none");
        none.output(
            "best",
            none.add("Identity",
                     {none.constant("zero", *Tensor::from<float>({1}, std::vector<float>{0}))}));
        return graph_.if_(is_any, std::move(some), std::move(none))[0];
    }

    Graph graph_{"small_detector"};
    SplitMix random_{1};
    int constants_ = 0;
};

}  // namespace

Graph small_detector() {
    return Builder().build();
}

}  // namespace leat::micro
