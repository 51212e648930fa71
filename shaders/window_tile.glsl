// The tile of B of a convolution: what is under the windows of output positions (counted through all
// images), as lines of a depth (input channel, tap) each. After conv_problem.glsl and matrix_tile.glsl,
// and after the shader has
//   group          whose input channels are read
//   outside_bits   the number that positions outside of x have; of bytes as they are in memory
//   flipped_bits   what makes signed bytes of the numbers in memory; 0 for others

// x under depth k of the windows from `number` on, a unit of them. Windows in a row of y are steps along
// a row of x.
uvec4 values_at(ConvProblem problem, uint k, uint number) {
    const Window window = problem.window;
    const uint taps = volume(window.taps);
    const uint plane = volume(window.y_extents);
    const uint count = problem.batch * plane;
    uvec4 unit = uvec4(0u);
    if (k >= problem.in_channels * taps) {
        return unit;
    }
    const ivec3 tap = ivec3(position_of(k % taps, window.taps) * window.dilation);
    uint row_left = 0u;
    uint channel = 0u;
    ivec3 position = ivec3(0);
    for (uint i = 0u; i < kUnitNumbers && number + i < count; ++i) {
        if (row_left == 0u) {
            const uvec3 at = position_of((number + i) % plane, window.y_extents);
            row_left = window.y_extents.z - at.z;
            position = window_origin(window, at) + tap;
            channel = ((number + i) / plane * problem.groups + group) * problem.in_channels + k / taps;
        }
        uint bits = outside_bits;
        if (all(lessThan(uvec3(position), window.x_extents))) {
            const uint at = channel * volume(window.x_extents) + number_of(uvec3(position), window.x_extents);
            bits = bits_at(operand(0u), at);
        }
        put(unit, i, bits ^ flipped_bits);
        position.z += int(window.stride.z);
        --row_left;
    }
    return unit;
}

void load_values(ConvProblem problem, uint first_position, uint depth) {
    const uint units = kTile / kUnitNumbers;
    for (uint i = gl_LocalInvocationIndex; i < kUnits; i += gl_WorkGroupSize.x) {
        tiles[kTileUnits + i / units * kTileStride + i % units] =
            values_at(problem, depth + i / units, first_position + i % units * kUnitNumbers);
    }
}
