// A convolution, as leat::vulkan::ConvProblem; after window.glsl. Channels are those of a group.
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer ConvProblem {
    Window window;
    uint batch;
    uint groups;
    uint in_channels;
    uint out_channels;
    uint has_bias;
    uint has_scale;
    float scale[];  // of the sums, by output channel of all groups, where has_scale
};

// What loops that store need of a problem: after each store Mesa's device would load it again, lane
// by lane.
struct Channels {
    uint groups;
    uint in_group;
    uint out_group;
    bool has_bias;
    bool has_scale;
};

Channels channels_of(ConvProblem problem) {
    return Channels(problem.groups, problem.in_channels, problem.out_channels, problem.has_bias != 0u,
                    problem.has_scale != 0u);
}
