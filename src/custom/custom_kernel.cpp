#include "custom/custom_kernel.h"

#include <new>
#include <utility>

#include "base/round_up.h"
#include "custom/custom_inference.h"
#include "custom/custom_op_def.h"
#include "custom/guarded_call.h"
#include "ops/roofline.h"

namespace leat::custom {
namespace {

constexpr int64_t kAlignmentBytes = 64;

int64_t aligned_bytes(const TensorArg& arg) {
    return round_up(bytes_of(arg), kAlignmentBytes);
}

// How the kernel divides a node's work, as its callbacks say.
struct Division {
    int64_t tile_count = 1;
    int64_t scratch_bytes = 0;  // of a thread
};

Result<Division> division_of(const OperatorKernel& kernel, const OperatorCall& call) {
    Division division;
    LEAT_RETURN_IF_ERROR(guarded("the kernel's tile_count or scratch_bytes", [&] {
        division.tile_count = kernel.tile_count ? kernel.tile_count(call) : 1;
        division.scratch_bytes = kernel.scratch_bytes ? kernel.scratch_bytes(call) : 0;
        return Status();
    }));
    if (division.tile_count < 1 || division.tile_count > OperatorKernel::kMostTiles ||
        division.scratch_bytes < 0 || division.scratch_bytes > OperatorKernel::kMostScratchBytes) {
        return invalid_argument("the kernel divides its work into no tiles that can run")
            .with_found(fmt::format("{} tiles with {} bytes of scratch memory", division.tile_count,
                                    division.scratch_bytes))
            .with_needed(fmt::format("1 to {} tiles, 0 to {} bytes", OperatorKernel::kMostTiles,
                                     OperatorKernel::kMostScratchBytes));
    }
    return division;
}

// Results that nobody reads, and which the kernel gets all the same, are in scratch memory.
Status check_unread(std::span<const TensorArg> unread) {
    int64_t left = OperatorKernel::kMostScratchBytes - kAlignmentBytes;
    for (size_t i = 0; i < unread.size(); ++i) {
        const int64_t bytes = bytes_of(unread[i]);
        if (bytes > left) {
            return out_of_memory("output {}, which nobody reads, does not fit scratch memory", i)
                .with_found(fmt::format("{} bytes", bytes))
                .with_needed(fmt::format("at most {}", OperatorKernel::kMostScratchBytes))
                .with_hint("an output that the operator calls optional is left out then");
        }
        left -= aligned_bytes(unread[i]);
    }
    return {};
}

// run() allocates nothing: views, and outputs that nobody reads, are in scratch memory.
class CustomKernel final : public HostKernel {
  public:
    // `unread`: by output; present where scratch memory stands in for it.
    CustomKernel(const PrepareContext& context,
                 const OperatorKernel& kernel,
                 Division division,
                 std::vector<TensorArg> unread)
        : node_(context.node),
          kernel_(kernel),
          unread_(std::move(unread)),
          views_bytes_(
              round_up(int64_t((context.inputs.size() + unread_.size()) * sizeof(TensorView)),
                       kAlignmentBytes)),
          own_scratch_bytes_(round_up(division.scratch_bytes, kAlignmentBytes)) {
        kernel_name = "custom";
        tile_count = division.tile_count;
        scratch_bytes = views_bytes_ + own_scratch_bytes_;
        for (const TensorArg& output : unread_) {
            scratch_bytes += aligned_bytes(output);
        }
        names_node = true;
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        auto* views = reinterpret_cast<TensorView*>(args.scratch);
        const size_t input_count = args.inputs.size();
        for (size_t i = 0; i < input_count; ++i) {
            new (&views[i]) TensorView(view_of(args.inputs[i]));
        }
        std::byte* scratch = args.scratch + views_bytes_;
        std::byte* room = scratch + own_scratch_bytes_;
        for (size_t i = 0; i < unread_.size(); ++i) {
            TensorView* view = new (&views[input_count + i]) TensorView(view_of(args.outputs[i]));
            if (unread_[i].present()) {
                *view = view_of(unread_[i]);
                view->data = room;
                room += aligned_bytes(unread_[i]);
            }
        }
        const NodeOfCustom node(node_);
        const KernelCall call{node,
                              {views, input_count},
                              {views + input_count, unread_.size()},
                              own_scratch_bytes_ > 0 ? scratch : nullptr,
                              tile_begin,
                              tile_end,
                              tile_count};
        Status status = guarded("the kernel", [&] { return kernel_.run(call); });
        return status.ok() ? Status() : std::move(status).with_node(node_.label());
    }

  private:
    const NodeData& node_;
    const OperatorKernel& kernel_;
    std::vector<TensorArg> unread_;
    int64_t views_bytes_;
    int64_t own_scratch_bytes_;
};

Result<std::unique_ptr<HostKernel>> make_kernel(const PrepareContext& context) {
    const OperatorKernel& kernel = *custom_of(context.node).host_kernel("cpu");
    std::vector<TensorArg> outputs(context.outputs.begin(), context.outputs.end());
    LEAT_RETURN_IF_ERROR(infer_unread_outputs(context.node, context.inputs, outputs));
    const NodeOfCustom node(context.node);
    const std::vector<TensorView> input_views = views_of(context.inputs);
    const std::vector<TensorView> output_views = views_of(outputs);
    LEAT_ASSIGN_OR_RETURN(const Division division,
                          division_of(kernel, OperatorCall{node, input_views, output_views}));
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (context.outputs[i].present()) {
            outputs[i] = {};
        }
    }
    LEAT_RETURN_IF_ERROR(check_unread(outputs));
    return std::unique_ptr<HostKernel>(
        std::make_unique<CustomKernel>(context, kernel, division, std::move(outputs)));
}

// All tiles, with memory of its own for what a run leaves out.
Status run_all(const ReferenceArgs& args) {
    const OperatorKernel& kernel = *custom_of(args.node).host_kernel("reference");
    std::vector<TensorArg> outputs(args.outputs.begin(), args.outputs.end());
    LEAT_RETURN_IF_ERROR(infer_unread_outputs(args.node, args.inputs, outputs));
    std::vector<Tensor> unread;
    for (TensorArg& output : outputs) {
        if (output.present() && output.data == nullptr) {
            LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(output.dtype, output.shape));
            output = arg_of(tensor);
            unread.push_back(std::move(tensor));
        }
    }
    const NodeOfCustom node(args.node);
    const std::vector<TensorView> input_views = views_of(args.inputs);
    const std::vector<TensorView> output_views = views_of(outputs);
    LEAT_ASSIGN_OR_RETURN(const Division division,
                          division_of(kernel, OperatorCall{node, input_views, output_views}));
    LEAT_ASSIGN_OR_RETURN(Tensor scratch,
                          Tensor::allocate(DType::kUint8, Shape{division.scratch_bytes}));
    const KernelCall call{node,
                          input_views,
                          output_views,
                          division.scratch_bytes > 0 ? scratch.mutable_bytes() : nullptr,
                          0,
                          division.tile_count,
                          division.tile_count};
    return guarded("the kernel", [&] { return kernel.run(call); });
}

}  // namespace

Result<std::unique_ptr<HostKernel>> make_custom_kernel(PrepareContext& context) {
    Result<std::unique_ptr<HostKernel>> kernel = make_kernel(context);
    if (!kernel.ok()) {
        return std::move(kernel).error().with_node(context.node.label());
    }
    return kernel;
}

Status run_custom_reference(const ReferenceArgs& args) {
    Status status = run_all(args);
    return status.ok() ? Status() : std::move(status).with_node(args.node.label());
}

}  // namespace leat::custom
