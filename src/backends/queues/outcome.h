// How a point completed, or work ended.
#pragma once

#include <string>
#include <utility>

#include "leat/plugin_backend.h"

namespace leat::queues {

struct Outcome {
    LeatCode code = kLeatOk;
    std::string text;
    bool ok() const { return code == kLeatOk; }
    bool is_pending() const { return code == kLeatPending; }
    bool is_error() const { return !ok() && !is_pending(); }
};

// Runs the body; what it throws is the outcome.
template <class Body>
Outcome caught(Body&& body) {
    char text[512] = {};
    auto error = plugin::made<LeatError>();
    error.text = text;
    error.capacity = int64_t(sizeof(text));
    Outcome outcome;
    outcome.code = plugin::guarded(&error, std::forward<Body>(body));
    outcome.text = text;
    return outcome;
}

}  // namespace leat::queues
