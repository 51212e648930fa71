// Graphs of the C ABI for checks. Everything that the view names lives as long as this object.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "leat/plugin_backend.h"

namespace leat::contract {

// Numbers of ONNX.
constexpr int32_t kFloat32 = 1;
constexpr int32_t kInt64 = 7;
constexpr int32_t kBool = 9;

class GraphView {
  public:
    GraphView() = default;
    GraphView(const GraphView&) = delete;
    GraphView& operator=(const GraphView&) = delete;

    // Extents below zero: symbol -1 - extent, so -1 is the first symbol; kUnknown: unknown.
    static constexpr int64_t kUnknown = INT64_MIN;
    int32_t symbol(const char* name, int64_t min_extent, int64_t max_extent);
    int32_t value(const char* name, int32_t dtype, const std::vector<int64_t>& extents);
    int32_t input(const char* name, int32_t dtype, const std::vector<int64_t>& extents);
    int32_t constant(const char* name, std::vector<int64_t> extents, std::vector<float> elements);
    int32_t outer(const char* name,
                  int32_t dtype,
                  const std::vector<int64_t>& extents,
                  int32_t value);
    void output(int32_t value) { outputs_.push_back(value); }
    void state(int32_t input, int32_t output) { states_.push_back({input, output}); }
    void node(const char* op_type,
              std::initializer_list<int32_t> inputs,
              std::initializer_list<int32_t> outputs,
              const char* domain = "");
    // Of the last node.
    void body(const char* name, GraphView& graph);

    // What describes the constant i as pack() gets it.
    const LeatTensorView& constant_tensor(int32_t value) const {
        return *values_[size_t(value)].constant->tensor;
    }
    const LeatGraphView* view();

  private:
    struct Lists {
        std::vector<int32_t> inputs;
        std::vector<int32_t> outputs;
        std::vector<LeatSubgraphView> bodies;
        std::vector<const LeatSubgraphView*> body_pointers;
    };
    std::deque<std::string> names_;
    std::deque<std::vector<LeatDim>> dims_;
    std::deque<std::vector<int64_t>> extents_;
    std::deque<std::vector<float>> elements_;
    std::deque<LeatTensorView> tensors_;
    std::deque<LeatConstantView> constants_;
    std::deque<LeatSymbolView> symbols_;
    std::deque<LeatValueView> values_;
    std::deque<LeatNodeView> nodes_;
    std::deque<Lists> lists_;
    std::vector<const LeatSymbolView*> symbol_pointers_;
    std::vector<const LeatValueView*> value_pointers_;
    std::vector<const LeatNodeView*> node_pointers_;
    std::vector<int32_t> inputs_;
    std::vector<int32_t> outputs_;
    std::vector<LeatStatePair> states_;
    LeatGraphView view_ = plugin::made<LeatGraphView>();
};

}  // namespace leat::contract
