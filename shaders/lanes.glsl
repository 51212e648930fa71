// A row of elements on one invocation, or on all of a workgroup (its lanes). Included after
// push_block.glsl.
//   constants 0: workgroup size in x
//             1: 1 where a row has the whole workgroup, 0 where it has one invocation
//             2: 1 where the workgroup may be more than a subgroup
// With lanes every invocation of a workgroup runs the same rows, so that the combination of their
// values may use barriers; subgroups may have any size.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(constant_id = 1) const uint kHasLanes = 0;
layout(constant_id = 2) const uint kHasSubgroups = 0;
const uint kMaxSubgroups = 128;
shared float lane_partials[kMaxSubgroups];

uint first_row() {
    return kHasLanes != 0u ? gl_WorkGroupID.x : gl_GlobalInvocationID.x;
}
uint row_step() {
    return kHasLanes != 0u ? gl_NumWorkGroups.x : linear_count();
}
uint lane() {
    return kHasLanes != 0u ? gl_LocalInvocationID.x : 0u;
}
uint lane_count() {
    return kHasLanes != 0u ? gl_WorkGroupSize.x : 1u;
}
// True for the invocation that writes what a row has one of.
bool is_first_lane() {
    return lane() == 0u;
}

const uint kCombineSum = 0;
const uint kCombineMax = 1;
const uint kCombineMin = 2;
const uint kCombineProduct = 3;

// A NaN wins over every extreme.
float combined(uint how, float a, float b) {
    switch (how) {
        case kCombineSum:
            return a + b;
        case kCombineMax:
            return isnan(b) || b > a ? b : a;
        case kCombineMin:
            return isnan(b) || b < a ? b : a;
        default:
            return a * b;
    }
}

// The combination of all lanes' values, in every lane.
float over_lanes(uint how, float value) {
    if (kHasLanes == 0u) {
        return value;
    }
    for (uint distance = 1u; distance < gl_SubgroupSize; distance <<= 1) {
        value = combined(how, value, subgroupShuffleXor(value, distance));
    }
    if (kHasSubgroups == 0u) {
        return value;
    }
    if (gl_SubgroupInvocationID == 0u) {
        lane_partials[gl_SubgroupID] = value;
    }
    barrier();
    float result = lane_partials[0];
    for (uint i = 1u; i < gl_NumSubgroups; ++i) {
        result = combined(how, result, lane_partials[i]);
    }
    // Before the next row writes.
    barrier();
    return result;
}
