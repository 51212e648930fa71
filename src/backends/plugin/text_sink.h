// Takes what a plugin writes.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "leat/plugin_backend.h"

namespace leat {

// Appends to the text, which must outlive it; says so where memory has run out.
inline LeatSink text_sink(std::string& text) {
    auto sink = plugin::made<LeatSink>();
    sink.user = &text;
    sink.write = [](void* user, const void* data, int64_t bytes) -> LeatCode {
        try {
            static_cast<std::string*>(user)->append(static_cast<const char*>(data), size_t(bytes));
        } catch (const std::bad_alloc&) {
            return kLeatOutOfMemory;
        }
        return kLeatOk;
    };
    return sink;
}

}  // namespace leat
