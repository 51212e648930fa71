// No kernel: functions that the backend links into kernels whose addresses it checks
// (src/backends/vulkan/shader/checked_spirv.h), and a main() that only keeps them. In such kernels
// push.parameters is the address of an AccessRules, whose layout is that of
// src/backends/vulkan/record/address_rules.h.
//
// Parameters are `const`, so that they are passed as values.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

// Bytes [begin, end) of operand `operand`.
struct AllowedRange {
    uvec2 begin;
    uvec2 end;
    uint is_written;  // 0: for reads only
    uint operand;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer AccessRules {
    uvec2 parameters;  // what push.parameters is without checks
    uvec2 report;
    uint command;
    uint range_count;
    AllowedRange ranges[];
};
// The first access of a run that breaks the rules.
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer StrayReport {
    uint is_taken;
    uint command;
    uint operand;
    uint is_write;
    uvec2 offset;  // of the access from the operand's begin, signed
    uint bytes;
    uint unused;
};
// Strays read zeros from behind the report, and write behind those.
const uint kReportBytes = 32;
const uint kStrayBytes = 512;

bool is_before(const uvec2 a, const uvec2 b) {
    const bool is_high_before = a.y < b.y;
    const bool is_high_same = a.y == b.y;
    const bool is_low_before = a.x < b.x;
    return is_high_before || (is_high_same && is_low_before);
}

bool is_same(const uvec2 a, const uvec2 b) {
    return a.x == b.x && a.y == b.y;
}

uvec2 advanced(const uvec2 address, const uint bytes) {
    uint carry;
    const uint low = uaddCarry(address.x, bytes, carry);
    return uvec2(low, address.y + carry);
}

uvec2 difference(const uvec2 a, const uvec2 b) {
    uint borrow;
    const uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

uvec2 kernel_parameters(const uvec2 rules) {
    return AccessRules(rules).parameters;
}

// `address`, or where a stray access of `bytes` does no harm. `base` is the tensor that the kernel
// indexes: where an operand begins there, the access must stay in that operand, else in any.
uvec2 checked_address(const uvec2 rules_at,
                      const uvec2 base,
                      const uvec2 address,
                      const uint bytes,
                      const uint is_write) {
    AccessRules rules = AccessRules(rules_at);
    const uvec2 end = advanced(address, bytes);
    bool is_in_own = false;
    bool is_in_any = false;
    bool has_own = false;
    uint operand = 0xffffffffu;  // whose begin is the base, else the last one that begins before
    uvec2 begin = uvec2(0u);
    for (uint i = 0u; i < rules.range_count; ++i) {
        AllowedRange range = rules.ranges[i];
        // Each by itself first: without branches, which a driver would copy to every access.
        const bool is_low = is_before(address, range.begin);
        const bool is_high = is_before(range.end, end);
        const bool is_allowed = is_write <= range.is_written;
        const bool is_farther = is_before(range.begin, begin);
        const bool is_own = is_same(range.begin, base);
        const bool is_inside = !is_low && !is_high && is_allowed;
        is_in_any = is_in_any || is_inside;
        is_in_own = is_in_own || (is_own && is_inside);
        if (is_own || (!has_own && !is_low && !is_farther)) {
            operand = range.operand;
            begin = range.begin;
        }
        has_own = has_own || is_own;
    }
    if (has_own ? is_in_own : is_in_any) {
        return address;
    }
    StrayReport report = StrayReport(rules.report);
    if (atomicCompSwap(report.is_taken, 0u, 1u) == 0u) {
        report.command = rules.command;
        report.operand = operand;
        report.is_write = is_write;
        report.offset = difference(address, begin);
        report.bytes = bytes;
    }
    return advanced(rules.report, kReportBytes + is_write * kStrayBytes);
}

void main() {
    const uvec2 unused = checked_address(uvec2(0u), uvec2(0u), uvec2(0u), 0u, 0u);
    kernel_parameters(unused);
}
