#include "backends/lowered/failure.h"

namespace leat::lowered {
namespace {

LeatCode leat_code(StatusCode code) {
    switch (code) {
        case StatusCode::kOk:
            return kLeatOk;
        case StatusCode::kInvalidArgument:
            return kLeatInvalidArgument;
        case StatusCode::kNotFound:
            return kLeatNotFound;
        case StatusCode::kUnsupported:
            return kLeatUnsupported;
        case StatusCode::kOutOfMemory:
            return kLeatOutOfMemory;
        case StatusCode::kDeviceLost:
            return kLeatDeviceLost;
        case StatusCode::kCancelled:
            return kLeatCancelled;
        case StatusCode::kBusy:
            return kLeatBusy;
        case StatusCode::kVersionMismatch:
            return kLeatVersionMismatch;
        default:
            return kLeatInternal;
    }
}

}  // namespace

void throw_if(const Status& status) {
    if (!status.ok()) {
        throw plugin::Error(leat_code(status.code()), status.message());
    }
}

}  // namespace leat::lowered
