// Sliding windows over three spatial axes d h w (leading ones of extent 1 added), as
// leat::WindowGeometry: tap t of window o reads position o * stride + t * dilation - pad_begin.
struct Window {
    uvec3 x_extents;
    uvec3 y_extents;
    uvec3 taps;
    uvec3 stride;
    uvec3 dilation;
    ivec3 pad_begin;
    ivec3 pad_end;
};

uint volume(uvec3 extents) {
    return extents.x * extents.y * extents.z;
}

// The position of a row-major number, and back.
uvec3 position_of(uint number, uvec3 extents) {
    return uvec3(number / (extents.y * extents.z), number / extents.z % extents.y, number % extents.z);
}
uint number_of(uvec3 position, uvec3 extents) {
    return (position.x * extents.y + position.y) * extents.z + position.z;
}

// Where tap 0 of a window lies; may be outside.
ivec3 window_origin(Window window, uvec3 at) {
    return ivec3(at * window.stride) - window.pad_begin;
}
