// One element of a convolution's result: `at` is its position, counted through all images, and its
// channel in the group. Nothing is done outside of the result.
void store(ConvProblem problem, uint group, uvec2 at, WIDE value) {
    const uint plane = volume(problem.window.y_extents);
    if (at.y >= problem.out_channels || at.x >= problem.batch * plane) {
        return;
    }
    const uint channel = group * problem.out_channels + at.y;
    if (problem.has_scale != 0u) {
        value *= WIDE(problem.scale[channel]);
    }
    if (problem.has_bias != 0u) {
        value += widen(ElementsIn(operand(2u)).at[channel]);
    }
    const uint image = at.x / plane * problem.groups * problem.out_channels;
    const uint y_at = (image + channel) * plane + at.x % plane;
    ElementsOut(operand(3u)).at[y_at] = epilogue(value, y_at);
}
