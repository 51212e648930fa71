#include "contract/compiled.h"

#include <algorithm>

namespace leat::contract {
namespace {

LeatRunShape run_shape(const Shapes& shapes) {
    auto shape = plugin::made<LeatRunShape>();
    shape.symbol_count = int32_t(shapes.symbols.size());
    shape.symbols = shapes.symbols.data();
    shape.input_count = int32_t(shapes.host_inputs.size());
    shape.host_inputs = shapes.host_inputs.data();
    return shape;
}

LeatCode append(void* user, const void* data, int64_t bytes) {
    static_cast<std::string*>(user)->append(static_cast<const char*>(data), size_t(bytes));
    return kLeatOk;
}

}  // namespace

Compiled::Compiled(Context& context, GraphView& graph) : context_(context) {
    const auto options = plugin::made<LeatCompileOptions>();
    PluginError error;
    const LeatCode code = context.api().compile(context.backend(), 0, graph.view(), &options,
                                                &executable_, error.get());
    if (code == kLeatUnsupported) {
        throw Unimplemented{std::string(error.text())};
    }
    Context::expect_ok(code, "compile", error);
}

Compiled::Compiled(Context& context, const std::string& saved) : context_(context) {
    PluginError error;
    Context::expect_ok(context.api().load(context.backend(), 0, saved.data(), int64_t(saved.size()),
                                          &executable_, error.get()),
                       "load", error);
}

Compiled::~Compiled() {
    context_.api().free_instance(context_.backend(), instance_);
    context_.api().free_executable(context_.backend(), executable_);
}

const LeatExecutableInfo& Compiled::info() const {
    return *context_.api().executable_info(context_.backend(), executable_);
}

std::string Compiled::save() const {
    std::string bytes;
    auto sink = plugin::made<LeatSink>();
    sink.user = &bytes;
    sink.write = append;
    PluginError error;
    Context::expect_ok(context_.api().save(context_.backend(), executable_, &sink, error.get()),
                       "save", error);
    return bytes;
}

LeatPlacement Compiled::place(int64_t bytes) {
    return {context_.slab(std::max<int64_t>(bytes, 1)), 0};
}

void Compiled::pack(const GraphView& graph) {
    const LeatExecutableInfo& table = info();
    PluginError error;
    for (int32_t i = 0; i < table.constant_count; ++i) {
        constants_.push_back(place(table.constants[i]->bytes));
        Context::expect_ok(context_.api().pack(context_.backend(), executable_, i,
                                               &graph.constant_tensor(table.constants[i]->value),
                                               constants_.back(), error.get()),
                           "pack", error);
    }
}

void Compiled::link(const Shapes& shapes) {
    context_.api().free_instance(context_.backend(), instance_);
    instance_ = nullptr;
    const LeatRunShape shape = run_shape(shapes);
    const LeatRequirements* needed = nullptr;
    PluginError error;
    Context::expect_ok(
        context_.api().requirements(context_.backend(), executable_, &shape, &needed, error.get()),
        "requirements", error);
    transients_.clear();
    for (int32_t i = 0; i < needed->transient_count; ++i) {
        transients_.push_back(place(needed->transients[i]->bytes));
    }
    step_count_ = needed->step_count;
    output_bytes_.assign(needed->output_bytes, needed->output_bytes + needed->output_count);
    output_is_bounded_.assign(needed->output_is_bounded,
                              needed->output_is_bounded + needed->output_count);
    context_.api().free_requirements(context_.backend(), needed);
    auto linkage = plugin::made<LeatLinkage>();
    linkage.transient_count = int32_t(transients_.size());
    linkage.transients = transients_.data();
    linkage.constant_count = int32_t(constants_.size());
    linkage.constants = constants_.data();
    Context::expect_ok(context_.api().link(context_.backend(), executable_, &shape, &linkage,
                                           &instance_, error.get()),
                       "link", error);
}

LeatPoint Compiled::execute(const std::vector<LeatBinding>& inputs,
                            const std::vector<LeatBinding>& outputs,
                            LeatProfile* profile) {
    LeatSubmission submission = context_.submission(context_.compute_queue());
    submission.profile = profile;
    PluginError error;
    Context::expect_ok(context_.api().execute(context_.backend(), instance_, &submission,
                                              inputs.data(), outputs.data(), error.get()),
                       "execute", error);
    return submission.signal;
}

bool compiles_and_frees(Context& context) {
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Relu", {x}, {y});
    graph.output(y);
    const auto options = plugin::made<LeatCompileOptions>();
    LeatExecutable* executable = nullptr;
    if (context.api().compile(context.backend(), 0, graph.view(), &options, &executable, nullptr) !=
        kLeatOk) {
        return false;
    }
    const LeatRunShape shape = run_shape({});
    const LeatRequirements* needed = nullptr;
    const LeatCode code =
        context.api().requirements(context.backend(), executable, &shape, &needed, nullptr);
    if (code == kLeatOk) {
        context.api().free_requirements(context.backend(), needed);
    }
    context.api().free_executable(context.backend(), executable);
    return code == kLeatOk;
}

std::vector<LeatNodeCapability> capabilities_of(Context& context, GraphView& graph) {
    const LeatGraphView* view = graph.view();
    std::vector<LeatNodeCapability> rows(size_t(view->node_count),
                                         plugin::made<LeatNodeCapability>());
    std::vector<LeatNodeCapability*> pointers;
    pointers.reserve(rows.size());
    for (LeatNodeCapability& row : rows) {
        pointers.push_back(&row);
    }
    PluginError error;
    Context::expect_ok(
        context.api().capabilities(context.backend(), 0, view, pointers.data(), error.get()),
        "capabilities", error);
    return rows;
}

}  // namespace leat::contract
