// y[index] = x[map_0(index_0), map_1(index_1), ...], or a value where some map leaves x: Pad, Tile,
// Resize to the nearest element, constants. Elements of ELEMENT_BITS, whatever their type.
//   operands   0: x, 1: one element, the value, 2: y, all aligned to an element
//   scalars    0: count of y, below 2^31; 1: rank, at most kMaxRank
//              2: 1 if the value is operand 1, 0 if it is the bits of scalars 3 to 6
//   parameters AxisMaps
//   constants  0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "element.glsl"

const uint kMaxRank = 8;

// Outermost axis first. An axis's index, less `begins`, is an index of x where it lies in x; what
// it is elsewhere is said by the mode.
const uint kConstant = 0;  // the value
const uint kEdge = 1;      // x's nearest
const uint kReflect = 2;   // mirrored about x's first and last, again and again
const uint kWrap = 3;      // x repeats
const uint kTable = 4;     // index i takes x's table[begins + i]; -1: the value
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer AxisMaps {
    uint y_extents[kMaxRank];
    int x_extents[kMaxRank];  // below 2^30
    int x_strides[kMaxRank];  // in elements
    int begins[kMaxRank];
    uint modes[kMaxRank];
    int table[];
};

// The index of x, or -1: the value.
int map_index(AxisMaps maps, uint axis, int y_index) {
    const uint mode = maps.modes[axis];
    if (mode == kTable) {
        return maps.table[maps.begins[axis] + y_index];
    }
    const int extent = maps.x_extents[axis];
    const int index = y_index - maps.begins[axis];
    if (index >= 0 && index < extent) {
        return index;
    }
    if (mode == kConstant) {
        return -1;
    }
    if (mode == kEdge) {
        return index < 0 ? 0 : extent - 1;
    }
    // GLSL leaves % of negative operands open.
    const int period = mode == kWrap ? extent : max(2 * (extent - 1), 1);
    const int phase = index >= 0 ? index % period : period - 1 - (-1 - index) % period;
    return phase < extent ? phase : period - phase;
}

void main() {
    const uint count = push.scalars[0];
    const uint rank = push.scalars[1];
    AxisMaps maps = AxisMaps(push.parameters);
    In x = In(operand(0u));
    Out y = Out(operand(2u));
    In value = In(operand(1u));
    const uvec4 value_bits =
        uvec4(push.scalars[3], push.scalars[4], push.scalars[5], push.scalars[6]);
    for (uint i = linear_id(); i < count; i += linear_count()) {
        uint left = i;
        int x_at = 0;
        bool is_outside = false;
        for (uint axis = rank; axis-- > 0u;) {
            const int index = map_index(maps, axis, int(left % maps.y_extents[axis]));
            left /= maps.y_extents[axis];
            is_outside = is_outside || index < 0;
            x_at += index * maps.x_strides[axis];
        }
        if (!is_outside) {
            y.at[i] = x.at[x_at];
        } else if (push.scalars[2] != 0u) {
            y.at[i] = value.at[0];
        } else {
            y.at[i] = ELEMENT_OF_WORDS(value_bits);
        }
    }
}
