#include "onnx/model_check.h"

#include <set>

#include "base/error.h"

namespace leat::onnx {
namespace {

Status check_configurations(const ModelProto& model) {
    std::set<std::string_view> names;
    for (const DeviceConfigurationProto& configuration : model.configuration) {
        if (configuration.name.empty() || !names.insert(configuration.name).second) {
            return invalid_argument("a device configuration needs a name of its own")
                .with_found(fmt::format("'{}'", configuration.name));
        }
        const size_t named = configuration.device.size();
        if (configuration.num_devices < 1 ||
            (named > 0 && named != size_t(configuration.num_devices))) {
            return invalid_argument("device configuration '{}' has a wrong number of devices",
                                    configuration.name)
                .with_found(fmt::format("num_devices {}, {} names", configuration.num_devices,
                                        configuration.device.size()))
                .with_needed("1 or more devices, and as many names or none");
        }
    }
    return {};
}

}  // namespace

Result<Opsets> check_model(const ModelProto& model) {
    constexpr int64_t kFirstIrWithOpsets = 3;
    if (!model.graph) {
        return parse_error("the file holds no graph").with_hint("is it an ONNX model?");
    }
    if (model.ir_version <= 0) {
        return parse_error("the file has no IR version")
            .with_found(fmt::format("{}", model.ir_version))
            .with_hint("is it an ONNX model?");
    }
    Opsets opsets = read_opsets(model.opset_import);
    if (opsets.empty()) {
        if (model.ir_version >= kFirstIrWithOpsets) {
            return parse_error("the model does not say which opset it uses")
                .with_found(fmt::format("IR version {}, no opset_import", model.ir_version))
                .with_hint("the file may be cut off");
        }
        opsets[""] = 1;
    }
    for (const auto& [domain, version] : opsets) {
        if (version < 1) {
            return invalid_argument("the opset of domain '{}' is not valid", domain)
                .with_found(fmt::format("{}", version))
                .with_needed("1 or more");
        }
    }
    if (model.graph->output.empty()) {
        return invalid_argument("the graph has no outputs");
    }
    LEAT_RETURN_IF_ERROR(check_configurations(model));
    return opsets;
}

}  // namespace leat::onnx
