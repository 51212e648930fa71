#include "backends/plugin/plugin_answers.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "leat/plugin_backend.h"

namespace leat {
namespace {

bool is_size(int64_t bytes) {
    return bytes >= 0 && bytes <= plugin::kMostBytes;
}

bool is_alignment(int64_t bytes) {
    return bytes > 0 && is_size(bytes) && (bytes & (bytes - 1)) == 0;
}

// 0 where nothing is asked for.
bool is_alignment_or_none(int64_t bytes) {
    return bytes == 0 || is_alignment(bytes);
}

// A rate or a time.
bool is_amount(double amount) {
    return std::isfinite(amount) && amount >= 0;
}

template <class Row>
bool has_rows(const Row* rows, int32_t count) {
    return count == 0 || (count > 0 && rows != nullptr);
}

// The same where each row is a pointer of its own.
template <class Row>
bool has_all_rows(Row* const* rows, int32_t count) {
    return has_rows(rows, count) &&
           std::all_of(rows, rows + count, [](const Row* row) { return row != nullptr; });
}

template <class... Args>
Status fault(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kInternal, format, std::forward<Args>(args)...)
        .with_hint("this is a fault of the backend");
}

Status check_domain(const char* device, const LeatDomainInfo& domain) {
    if (domain.name == nullptr || domain.capacity_bytes < 0 ||
        !is_alignment(domain.alignment_bytes) ||
        !is_alignment_or_none(domain.import_alignment_bytes)) {
        return fault("memory domain {} of device '{}' is none", domain.domain, device)
            .with_found(fmt::format("{} bytes, alignment {}, of imports {}{}",
                                    domain.capacity_bytes, domain.alignment_bytes,
                                    domain.import_alignment_bytes,
                                    domain.name == nullptr ? ", no name" : ""))
            .with_needed("0 bytes or more, and powers of two");
    }
    return {};
}

Status check_steps(std::span<const int32_t> steps, int32_t step_count) {
    for (const int32_t step : steps) {
        if (step < 0 || step >= step_count) {
            return fault("step {} of a part that has {}", step, step_count);
        }
    }
    return {};
}

Status check_list(const LeatStepList& list, int32_t step_count) {
    if (!has_rows(list.steps, list.step_count)) {
        return fault("a list of {} steps of a part", list.step_count);
    }
    return check_steps({list.steps, size_t(list.step_count)}, step_count);
}

Status check_operand_steps(const LeatRequirements& table) {
    const LeatChained* chained = plugin::find_chained(table.header, LEAT_OPERAND_STEPS);
    if (chained == nullptr) {
        return {};
    }
    const auto told = plugin::read_chained<LeatOperandSteps>(chained);
    if (!has_rows(told.inputs, told.input_count) || !has_rows(told.outputs, told.output_count)) {
        return fault("steps of {} inputs and {} outputs of a part", told.input_count,
                     told.output_count);
    }
    for (const std::span lists : {std::span(told.inputs, size_t(told.input_count)),
                                  std::span(told.outputs, size_t(told.output_count))}) {
        for (const LeatStepList& list : lists) {
            LEAT_RETURN_IF_ERROR(check_list(list, table.step_count));
        }
    }
    return {};
}

Status check_transient(const LeatTransient& transient, int32_t step_count) {
    if (!is_size(transient.bytes) || !is_alignment_or_none(transient.alignment_bytes)) {
        return fault("a part works in {} bytes of alignment {}", transient.bytes,
                     transient.alignment_bytes)
            .with_needed(fmt::format("0 to {} bytes, and a power of two", plugin::kMostBytes));
    }
    return check_list({transient.step_count, transient.steps}, step_count);
}

}  // namespace

Status check_device(const LeatDeviceInfo& device) {
    if (device.name == nullptr || !has_all_rows(device.domains, device.domain_count) ||
        !has_all_rows(device.queues, device.queue_count) ||
        !has_all_rows(device.links, device.link_count)) {
        return fault(
            "device '{}' has no name, or {} domains, {} queues and {} links that are not "
            "there",
            device.name == nullptr ? "" : device.name, device.domain_count, device.queue_count,
            device.link_count);
    }
    for (int32_t i = 0; i < device.domain_count; ++i) {
        LEAT_RETURN_IF_ERROR(check_domain(device.name, *device.domains[i]));
    }
    for (int32_t i = 0; i < device.link_count; ++i) {
        const LeatLinkInfo& link = *device.links[i];
        if (!is_amount(link.latency_ns) || !is_amount(link.bytes_per_s)) {
            return fault("the link from domain {} to domain {} of device '{}' is none",
                         link.from_domain, link.to_domain, device.name)
                .with_found(
                    fmt::format("{} ns and {} bytes a second", link.latency_ns, link.bytes_per_s))
                .with_needed("numbers of 0 or more");
        }
    }
    return {};
}

Status check_capability(const LeatNodeCapability& capability) {
    if (is_amount(capability.cost_ns) && is_size(capability.workspace_bytes)) {
        return {};
    }
    return fault("the backend says that it takes {} ns and {} bytes", capability.cost_ns,
                 capability.workspace_bytes)
        .with_needed(fmt::format("a number of 0 or more, and 0 to {} bytes", plugin::kMostBytes));
}

std::string reason_for_refusal(const LeatNodeCapability& capability) {
    const std::string reason(capability.reason,
                             ::strnlen(capability.reason, sizeof(capability.reason)));
    return reason.empty() ? "no reason" : reason;
}

Status check_executable(const LeatExecutableInfo& info, const LeatGraphView& graph) {
    if (!has_all_rows(info.constants, info.constant_count)) {
        return fault("{} packed constants of a part are not there", info.constant_count);
    }
    for (int32_t i = 0; i < info.constant_count; ++i) {
        const LeatPackedConstant& packed = *info.constants[i];
        const bool is_value = packed.value >= 0 && packed.value < graph.value_count;
        if (!is_value || graph.values[packed.value]->constant == nullptr) {
            return fault("a part packs value {}, which is no constant", packed.value);
        }
        if (!is_size(packed.bytes) || !is_alignment_or_none(packed.alignment_bytes)) {
            return fault("a part packs constant '{}' into {} bytes of alignment {}",
                         graph.values[packed.value]->name, packed.bytes, packed.alignment_bytes)
                .with_needed(fmt::format("0 to {} bytes, and a power of two", plugin::kMostBytes));
        }
    }
    return {};
}

Status check_requirements(const LeatRequirements& table, int32_t output_count) {
    if (table.step_count < 0 || !has_rows(table.edges, table.edge_count) ||
        !has_all_rows(table.transients, table.transient_count) ||
        table.output_count != output_count || !has_rows(table.output_bytes, output_count)) {
        return fault("a part has {} steps, {} edges, {} transients and {} outputs",
                     table.step_count, table.edge_count, table.transient_count, table.output_count)
            .with_needed(fmt::format("tables that are there, and {} outputs", output_count));
    }
    for (int32_t i = 0; i < output_count; ++i) {
        if (!is_size(table.output_bytes[i])) {
            return fault("output {} of a part has {} bytes", i, table.output_bytes[i])
                .with_needed(fmt::format("0 to {}", plugin::kMostBytes));
        }
    }
    for (int32_t i = 0; i < table.transient_count; ++i) {
        LEAT_RETURN_IF_ERROR(check_transient(*table.transients[i], table.step_count));
    }
    for (int32_t i = 0; i < table.edge_count; ++i) {
        const int32_t ends[] = {table.edges[i].from_step, table.edges[i].to_step};
        LEAT_RETURN_IF_ERROR(check_steps(ends, table.step_count));
    }
    return check_operand_steps(table);
}

}  // namespace leat
