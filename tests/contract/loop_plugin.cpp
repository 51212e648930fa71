// A backend that takes a whole Loop, as the ABI has shown it from its first version on: the node
// has its own inputs, and a value of its body says which value of the graph around it is. It runs
// Loops that add a captured value to a carried one in each iteration.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device_table.h"  // of docs/examples/my_backend, as the next two
#include "leat/plugin_backend.h"
#include "queue.h"
#include "slab.h"

namespace my {
namespace {

using leat::plugin::made;

[[noreturn]] void refuse(const char* reason) {
    throw leat::plugin::Error(kLeatUnsupported, reason);
}

// Among the inputs of the part.
struct Loop {
    int32_t count = -1;
    int32_t initial = -1;
    int32_t captured = -1;
    int64_t elements = 1;
};

int32_t input_of(const LeatGraphView& graph, int32_t value) {
    const int32_t* const end = graph.inputs + graph.input_count;
    const int32_t* const found = std::find(graph.inputs, end, value);
    return found == end ? -1 : int32_t(found - graph.inputs);
}

Loop loop_of(const LeatGraphView& graph, const LeatNodeView& node) {
    if (std::strcmp(node.op_type, "Loop") != 0) {
        refuse("only Loop");
    }
    if (node.input_count != 3 || node.inputs[0] < 0 || node.inputs[1] >= 0 ||
        node.output_count != 1 || node.subgraph_count != 1) {
        refuse("only a trip count and one carried value");
    }
    const LeatGraphView& body = *node.subgraphs[0]->graph;
    if (body.node_count != 1 || std::strcmp(body.nodes[0]->op_type, "Add") != 0 ||
        body.input_count != 3 || body.outputs[1] != body.nodes[0]->outputs[0]) {
        refuse("only a sum");
    }
    Loop loop;
    loop.count = node.inputs[0];
    loop.initial = node.inputs[2];
    for (int32_t i = 0; i < 2; ++i) {
        const int32_t operand = body.nodes[0]->inputs[i];
        const int32_t outer = body.values[operand]->outer_value;
        if (outer >= 0) {
            loop.captured = outer;
        } else if (operand != body.inputs[2]) {
            refuse("only of the carried value and a captured one");
        }
    }
    if (loop.captured < 0) {
        refuse("nothing is captured");
    }
    const LeatValueView& result = *graph.values[node.outputs[0]];
    for (int32_t axis = 0; axis < result.rank; ++axis) {
        if (result.dims[axis].extent < 0) {
            refuse("extents that are not known");
        }
        loop.elements *= result.dims[axis].extent;
    }
    return loop;
}

class NoMemory final : public leat::plugin::Requirements {
  public:
    explicit NoMemory(int64_t bytes) : bytes_(bytes) {
        step_count = 1;
        output_count = 1;
        output_bytes = &bytes_;
        output_is_bounded = &is_bounded_;
    }

  private:
    int64_t bytes_;
    int32_t is_bounded_ = 0;
};

class Instance final : public leat::plugin::Instance {
  public:
    explicit Instance(const Loop& loop) : loop_(loop) {}

    void run(const LeatBinding* inputs, const LeatBinding* outputs) const {
        const auto address = [](const LeatBinding& bound, int64_t bytes) {
            return address_of({bound.slab, bound.offset_bytes}, bytes);
        };
        const int64_t bytes = loop_.elements * int64_t(sizeof(float));
        const auto* initial = reinterpret_cast<const float*>(address(inputs[loop_.initial], bytes));
        const auto* captured =
            reinterpret_cast<const float*>(address(inputs[loop_.captured], bytes));
        auto* sum = reinterpret_cast<float*>(address(outputs[0], bytes));
        int64_t count = 0;
        std::memcpy(&count, address(inputs[loop_.count], sizeof(count)), sizeof(count));
        std::copy(initial, initial + loop_.elements, sum);
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t k = 0; k < loop_.elements; ++k) {
                sum[k] += captured[k];
            }
        }
    }

  private:
    const Loop loop_;
};

class Executable final : public leat::plugin::Executable {
  public:
    explicit Executable(const LeatGraphView& graph) : info_(made<LeatExecutableInfo>()) {
        if (graph.node_count != 1) {
            refuse("only one Loop");
        }
        loop_ = loop_of(graph, *graph.nodes[0]);
        for (int32_t* value : {&loop_.count, &loop_.initial, &loop_.captured}) {
            *value = input_of(graph, *value);
            if (*value < 0) {
                refuse("an operand that is no input");
            }
        }
        info_.input_count = graph.input_count;
        info_.output_count = 1;
    }

    const LeatExecutableInfo& info() const override { return info_; }
    std::unique_ptr<leat::plugin::Requirements> requirements(const LeatRunShape&) override {
        return std::make_unique<NoMemory>(loop_.elements * int64_t(sizeof(float)));
    }
    std::unique_ptr<leat::plugin::Instance> link(const LeatRunShape&, const LeatLinkage&) override {
        return std::make_unique<Instance>(loop_);
    }

  private:
    Loop loop_;
    LeatExecutableInfo info_;
};

class LoopBackend final : public leat::plugin::Backend {
  public:
    static constexpr const char* kName = "loop";
    static constexpr const char* kLibraryVersion = "1";
    static void check_available(const LeatHostApi*) {}
    static const LeatSettingInfo* setting(int32_t) { return nullptr; }

    LoopBackend(const LeatHostApi*, const LeatSettings*) {}

    const LeatDeviceInfo* device(int32_t index) override {
        return index == 0 ? &table_.device : nullptr;
    }
    int64_t open_submissions() override { return queue_.open_submissions(); }
    std::unique_ptr<leat::plugin::Slab> allocate_slab(int32_t, int64_t bytes) override {
        return std::make_unique<Slab>(bytes);
    }
    void* map_slab(leat::plugin::Slab& slab) override { return static_cast<Slab&>(slab).data(); }
    void flush_slab(leat::plugin::Slab&, int64_t, int64_t) override {}
    void submit_copy(const LeatSubmission& submission, const LeatCopy& copy) override {
        const void* from =
            copy.from.slab != nullptr ? address_of(copy.from, copy.bytes) : copy.from_host;
        void* to = copy.to.slab != nullptr ? address_of(copy.to, copy.bytes) : copy.to_host;
        queue_.submit(submission,
                      [from, to, bytes = size_t(copy.bytes)] { std::memmove(to, from, bytes); });
    }
    uint64_t timeline_value(int32_t) override { return queue_.value(); }
    bool is_reached(LeatPoint point) override { return queue_.code_of(point) == kLeatOk; }
    void on_reached(LeatPoint point, LeatReached callback, void* user) override {
        queue_.on_reached(point, callback, user);
    }
    void fail(int32_t, LeatCode code) override { queue_.fail(code); }
    void forget_failures(int32_t, uint64_t value) override { queue_.forget_failures(value); }
    void capability(int32_t,
                    const LeatGraphView& graph,
                    const LeatNodeView& node,
                    LeatNodeCapability& capability) override {
        (void)loop_of(graph, node);
        capability.layouts = kLeatLayoutRowMajor;
    }
    std::unique_ptr<leat::plugin::Executable> compile(int32_t,
                                                      const LeatGraphView& graph,
                                                      const LeatCompileOptions&) override {
        return std::make_unique<Executable>(graph);
    }
    void execute(leat::plugin::Instance& instance,
                 const LeatSubmission& submission,
                 const LeatBinding* inputs,
                 const LeatBinding* outputs) override {
        const auto& linked = static_cast<const Instance&>(instance);
        const std::vector<LeatBinding> ins(inputs, inputs + kInputs);
        queue_.submit(submission,
                      [&linked, ins, out = outputs[0]] { linked.run(ins.data(), &out); });
    }

  private:
    static constexpr int32_t kInputs = 3;  // every part has so many

    DeviceTable table_;
    Queue queue_;
};

}  // namespace
}  // namespace my

LEAT_BACKEND_PLUGIN(my::LoopBackend)
