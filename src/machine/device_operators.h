// Custom operators on a device of a plugin: which ones the plugin was told of.
//
// Definitions outlive this: they are the Runtime's. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "custom/custom_op_def.h"
#include "leat/plugin.h"

namespace leat {

class DeviceOperators {
  public:
    // Why nodes of the operator stay on the host; empty: the backend has its schema and kernel
    // now, and may be asked about the nodes.
    std::string offer(const LeatBackendApi& api, LeatBackend* backend, const CustomOpDef& def);

  private:
    struct Offered {
        const CustomOpDef* def = nullptr;
        std::string refusal;
    };
    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, Offered> operators_;  // by domain and name
};

// Why a node stays on the host, whatever the backend can do: what the ABI has no form for.
std::string device_refusal(const CustomOpDef& def, const NodeData& node);

}  // namespace leat
