// A backend that is the simulated device's, but for one answer that cannot be. Which one says the
// variable LEAT_GARBAGE when it is asked.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "leat/plugin_backend.h"

namespace {

bool is_wrong(std::string_view answer) {
    const char* wanted = std::getenv("LEAT_GARBAGE");
    return wanted != nullptr && answer == wanted;
}

const LeatBackendApi* sim = nullptr;  // from the first query on

// What was given out lives as long as the plugin: its readers do not say when they are done.
template <class T>
T* kept(const T& value) {
    static std::deque<T> values;
    return &values.emplace_back(value);
}

const LeatDeviceInfo* device(LeatBackend* backend, int32_t index) {
    const LeatDeviceInfo* info = sim->device(backend, index);
    if (info == nullptr) {
        return is_wrong("devices_without_end") ? sim->device(backend, 0) : nullptr;
    }
    static std::map<int32_t, LeatDeviceInfo*> changed;
    if (changed[index] != nullptr) {
        return changed[index];
    }
    LeatDomainInfo* domain = kept(*info->domains[0]);
    LeatLinkInfo* link = kept(*info->links[0]);
    LeatDeviceInfo* own = kept(*info);
    if (is_wrong("negative_capacity")) {
        domain->capacity_bytes = -1;
    } else if (is_wrong("odd_alignment")) {
        domain->alignment_bytes = 48;
    } else if (is_wrong("no_alignment")) {
        domain->alignment_bytes = 0;
    } else if (is_wrong("infinite_link")) {
        link->bytes_per_s = std::numeric_limits<double>::infinity();
    } else if (is_wrong("nan_latency")) {
        link->latency_ns = std::numeric_limits<double>::quiet_NaN();
    } else if (is_wrong("negative_links")) {
        own->link_count = -1;
    } else if (is_wrong("null_name")) {
        own->name = nullptr;
    } else {
        return info;
    }
    own->domains = kept<const LeatDomainInfo*>(domain);
    own->domain_count = 1;
    own->links = kept<const LeatLinkInfo*>(link);
    own->link_count = own->link_count < 0 ? -1 : 1;
    changed[index] = own;
    return own;
}

LeatCode capabilities(LeatBackend* backend,
                      int32_t number,
                      const LeatGraphView* graph,
                      LeatNodeCapability* const* rows,
                      LeatError* error) {
    const LeatCode code = sim->capabilities(backend, number, graph, rows, error);
    LeatNodeCapability& last = *rows[graph->node_count - 1];
    if (is_wrong("nan_cost")) {
        last.cost_ns = std::numeric_limits<double>::quiet_NaN();
    } else if (is_wrong("infinite_cost")) {
        last.cost_ns = std::numeric_limits<double>::infinity();
    } else if (is_wrong("negative_workspace")) {
        last.workspace_bytes = -1;
    } else if (is_wrong("endless_reason")) {
        last.is_supported = 0;
        std::memset(last.reason, 'n', sizeof(last.reason));
    }
    return code;
}

const LeatExecutableInfo* executable_info(LeatBackend* backend, LeatExecutable* executable) {
    const LeatExecutableInfo* info = sim->executable_info(backend, executable);
    if (info->constant_count == 0) {
        return info;
    }
    LeatPackedConstant* constant = kept(*info->constants[0]);
    LeatExecutableInfo* own = kept(*info);
    own->constants = kept<const LeatPackedConstant*>(constant);
    own->constant_count = 1;
    if (is_wrong("constant_beyond")) {
        constant->value = 1 << 30;
    } else if (is_wrong("constant_of_input")) {
        constant->value = 0;
    } else if (is_wrong("negative_constant")) {
        constant->bytes = -64;
    } else if (is_wrong("constant_near_the_end")) {
        constant->bytes = std::numeric_limits<int64_t>::max() - 8;
    } else if (is_wrong("negative_constants")) {
        own->constant_count = -1;
    } else {
        return info;
    }
    return own;
}

std::map<const LeatRequirements*, const LeatRequirements*> original_of;

LeatCode requirements(LeatBackend* backend,
                      LeatExecutable* executable,
                      const LeatRunShape* shape,
                      const LeatRequirements** table,
                      LeatError* error) {
    const LeatCode code = sim->requirements(backend, executable, shape, table, error);
    LeatRequirements* own = kept(**table);
    own->header.next = nullptr;
    LeatTransient* transient = kept(*own->transients[0]);
    if (is_wrong("negative_output")) {
        own->output_bytes = kept(int64_t{-4});
    } else if (is_wrong("output_near_the_end")) {
        own->output_bytes = kept(std::numeric_limits<int64_t>::max());
    } else if (is_wrong("more_outputs")) {
        own->output_count = 7;
    } else if (is_wrong("negative_steps")) {
        own->step_count = -3;
    } else if (is_wrong("edge_beyond")) {
        own->edges = kept(LeatEdge{0, 1 << 30});
        own->edge_count = 1;
    } else if (is_wrong("circle")) {
        own->edges = kept(LeatEdge{0, 0});
        own->edge_count = 1;
    } else if (is_wrong("negative_transient")) {
        transient->bytes = -1;
    } else if (is_wrong("transient_near_the_end")) {
        transient->bytes = std::numeric_limits<int64_t>::max() - 1;
    } else if (is_wrong("odd_transient")) {
        transient->alignment_bytes = 24;
    } else if (is_wrong("transient_of_no_step")) {
        transient->steps = kept(int32_t{-1});
        transient->step_count = 1;
    } else {
        return code;
    }
    own->transients = kept<const LeatTransient*>(transient);
    own->transient_count = 1;
    original_of[own] = *table;
    *table = own;
    return code;
}

void free_requirements(LeatBackend* backend, const LeatRequirements* table) {
    const auto changed = original_of.find(table);
    sim->free_requirements(backend, changed == original_of.end() ? table : changed->second);
}

const LeatBackendApi* table_of_sim(const LeatHostApi* host, uint32_t version) {
    const std::string file = std::string(std::getenv("LEAT_BUILT_BACKENDS")) + "/leat_sim.so";
    void* library = ::dlopen(file.c_str(), RTLD_LOCAL | RTLD_NOW);
    const auto query = reinterpret_cast<LeatBackendQuery>(::dlsym(library, LEAT_PLUGIN_QUERY));
    return query(host, version);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const LeatBackendApi* leat_backend_query(
    const LeatHostApi* host, uint32_t version) {
    sim = sim == nullptr ? table_of_sim(host, version) : sim;
    static LeatBackendApi own = *sim;
    own.name = "garbage";
    own.device = device;
    own.capabilities = capabilities;
    own.executable_info = executable_info;
    own.requirements = requirements;
    own.free_requirements = free_requirements;
    return &own;
}
