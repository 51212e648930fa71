// The one block of push constants that every kernel has, 128 bytes; src/backends/vulkan/record/recording.h
// fills it. Tensors are reached by addresses; a kernel with windows has some of them as texel buffers
// instead, and their addresses here all the same. Included after the workgroup's size is declared, or
// gl_WorkGroupSize would be that of no declaration, 1.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require

layout(push_constant, scalar) uniform PushBlock {
    uvec2 parameters;    // address of the kernel's parameters, read-only
    uvec2 operands[8];   // addresses of tensors, inputs first
    uint indirect;       // bit i: operands[i] is where the address stands instead
    uint scalars[13];    // meaning and units: see each kernel
} push;

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer AddressSlot {
    uvec2 address;
};

// The address of operand i, a constant. External tensors lie elsewhere in each run, so theirs stand
// in a table.
uvec2 operand(uint i) {
    const uvec2 address = push.operands[i];
    return (push.indirect >> i & 1u) != 0u ? AddressSlot(address).address : address;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer FloatsIn {
    float at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer FloatsOut {
    float at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Vec4sIn {
    vec4 at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer Vec4sOut {
    vec4 at[];
};

// The number of this invocation, and of all of them, where the work is one row of elements.
uint linear_id() {
    return gl_GlobalInvocationID.x;
}
uint linear_count() {
    return gl_NumWorkGroups.x * gl_WorkGroupSize.x;
}
