// shaders/window.glsl as C++.
#pragma once

#include "ops/window.h"

namespace leat::vulkan {

// Numbers by axis d h w; pads are not negative.
struct WindowParameters {
    using Numbers = std::array<uint32_t, kMaxSpatialRank>;
    Numbers x_extents{};
    Numbers y_extents{};
    Numbers taps{};
    Numbers stride{};
    Numbers dilation{};
    Numbers pad_begin{};
    Numbers pad_end{};

    static WindowParameters make(const WindowGeometry& window) {
        return {numbers_of(window.input),    numbers_of(window.output),
                numbers_of(window.kernel),   numbers_of(window.stride),
                numbers_of(window.dilation), numbers_of(window.pad_begin),
                numbers_of(window.pad_end)};
    }

  private:
    static Numbers numbers_of(const Extents& extents) {
        return {uint32_t(extents[0]), uint32_t(extents[1]), uint32_t(extents[2])};
    }
};

}  // namespace leat::vulkan
