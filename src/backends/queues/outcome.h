// How a point completed, or work ended.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "leat/plugin_backend.h"

namespace leat::queues {

// Copies need no memory: threads of the queues make them, and nobody would hear of a failure there.
struct Outcome {
    LeatCode code = kLeatOk;
    const char* text = "";  // a literal, or that of `own`
    std::shared_ptr<const std::string> own = nullptr;

    bool ok() const { return code == kLeatOk; }
    bool is_pending() const { return code == kLeatPending; }
    bool is_error() const { return !ok() && !is_pending(); }
};

// With a copy of the text; with another one where there is no memory for it.
inline Outcome make_outcome(LeatCode code, std::string_view text) noexcept {
    if (text.empty()) {
        return {code};
    }
    try {
        auto own = std::make_shared<const std::string>(text);
        const char* const characters = own->c_str();
        return {code, characters, std::move(own)};
    } catch (const std::bad_alloc&) {
        return {code, "no memory left to say why"};
    }
}

// Runs the body; what it throws is the outcome. Throws nothing itself.
template <class Body>
Outcome caught(Body&& body) noexcept {
    char text[512] = {};
    auto error = plugin::made<LeatError>();
    error.text = text;
    error.capacity = int64_t(sizeof(text));
    const LeatCode code = plugin::guarded(&error, std::forward<Body>(body));
    return make_outcome(code, text);
}

}  // namespace leat::queues
