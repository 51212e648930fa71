// Operands that hold indices, i32 or i64, as ONNX means them: in [-extent, extent). After
// push_block.glsl.

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer IndexWords {
    int at[];
};

// Element i of indices of `words` words each, 1 or 2, in [0, extent); -1 where it is out of range.
// Needs no 64-bit integers: an index below 2^31 is its low word.
int load_index(IndexWords indices, uint i, uint words, int extent) {
    const int low = indices.at[i * words];
    const int high = words == 2u ? indices.at[i * words + 1u] : low >> 31;
    if (high != low >> 31) {
        return -1;
    }
    const int index = low < 0 ? low + extent : low;
    return index < extent ? max(index, -1) : -1;
}

// leat::vulkan::ToldIndex, which the host reads after the run.
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ToldIndex {
    uint is_taken;
    uint axis;
    int low;
    int high;
};

// Tells the host of element i of `indices`, which is out of range on the kernel's axis number `axis`,
// unless another invocation has told of one.
void tell_index(uvec2 report, uint axis, IndexWords indices, uint i, uint words) {
    ToldIndex told = ToldIndex(report);
    if (atomicCompSwap(told.is_taken, 0u, 1u) == 0u) {
        const int low = indices.at[i * words];
        told.axis = axis;
        told.low = low;
        told.high = words == 2u ? indices.at[i * words + 1u] : low >> 31;
    }
}
