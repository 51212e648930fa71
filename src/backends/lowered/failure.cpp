#include "backends/lowered/failure.h"

#include <algorithm>
#include <iterator>

namespace leat::lowered {
namespace {

struct CodePair {
    LeatCode code;
    StatusCode status;
};
constexpr CodePair kCodes[] = {
    {kLeatOk, StatusCode::kOk},
    {kLeatInvalidArgument, StatusCode::kInvalidArgument},
    {kLeatNotFound, StatusCode::kNotFound},
    {kLeatUnsupported, StatusCode::kUnsupported},
    {kLeatOutOfMemory, StatusCode::kOutOfMemory},
    {kLeatDeviceLost, StatusCode::kDeviceLost},
    {kLeatCancelled, StatusCode::kCancelled},
    {kLeatBusy, StatusCode::kBusy},
    {kLeatVersionMismatch, StatusCode::kVersionMismatch},
};

LeatCode leat_code(StatusCode status) {
    const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                     [&](CodePair pair) { return pair.status == status; });
    return found == std::end(kCodes) ? kLeatInternal : found->code;
}

}  // namespace

StatusCode status_code(LeatCode code) {
    switch (code) {
        case kLeatUnimplemented:
            return StatusCode::kUnsupported;
        case kLeatCorrupt:
            return StatusCode::kParse;
        case kLeatException:
            return StatusCode::kUserException;
        default:
            break;
    }
    const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                     [&](CodePair pair) { return pair.code == code; });
    return found == std::end(kCodes) ? StatusCode::kInternal : found->status;
}

void throw_if(const Status& status) {
    if (!status.ok()) {
        throw plugin::Error(leat_code(status.code()), status.message());
    }
}

}  // namespace leat::lowered
