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
