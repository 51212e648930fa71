// FunctionCall: one call of a model-local function, whose body takes the place of the node.
#pragma once

#include <utility>
#include <vector>

#include "onnx/scope.h"

namespace leat::onnx {

// The scope of the caller, the node and the function outlive it.
class FunctionCall {
  public:
    // arguments: the node's attributes. The function's defaults are added.
    FunctionCall(Scope& caller,
                 const NodeProto& call,
                 const FunctionProto& function,
                 BoundAttributes arguments);
    FunctionCall(const FunctionCall&) = delete;
    FunctionCall& operator=(const FunctionCall&) = delete;

    // Gives the body's names the operands of the call. An error: the call has too many of them.
    Status bind_operands();
    // The scope for the nodes of the function.
    Scope& body() { return body_; }
    // After the body's nodes: adds copies for outputs that are inputs. An error names an output
    // that the body does not produce.
    Status finish();

  private:
    Status add_copies();

    Scope& caller_;
    const NodeProto& call_;
    const FunctionProto& function_;
    const BoundAttributes arguments_;
    const Opsets opsets_;
    Scope body_;
    // From an input of the function to the result that has the same name.
    std::vector<std::pair<ValueId, ValueId>> copies_;
};

}  // namespace leat::onnx
