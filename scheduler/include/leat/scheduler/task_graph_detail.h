// How a TaskGraph calls callables of any signature and keeps values of any type.
//
// No part of the API: include task_graph.h. Everything here is about types; what has none is in the
// library.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/export.h"
#include "leat/status.h"

namespace leat::scheduler {

class NodeScope;
template <class T>
class Node;
template <class T>
class Values;

namespace detail {

// The place of one value in one instance of a graph.
struct ValueSlot {
    void* address = nullptr;
    std::atomic<int32_t> readers_left{0};  // the last reader destroys the value
    bool is_alive = false;
    bool is_borrowed = false;  // owned by somebody else: never destroyed here
    bool may_move = false;     // one reader, and the value is not kept as a result
};

// The values that a body reads: its inputs, lists written out.
struct NodeInputs {
    ValueSlot* slots = nullptr;
    const int32_t* indices = nullptr;
    ValueSlot& operator[](int32_t input) const { return slots[indices[input]]; }
};

struct NodeCall {
    NodeScope& scope;
    NodeInputs inputs;
    void* output = nullptr;  // uninitialised memory for the value; null for none
};

// For a catch block: that moving a value threw, and what.
LEAT_API Status caught_by_caller() noexcept;

// What `make`, which moves a value, returns; what it threw becomes a Status. Where this is compiled
// without exceptions, one that passes by all the same (std::bad_alloc) is not caught here.
template <class Make>
std::invoke_result_t<Make> guarded(const Make& make) {
#if defined(__cpp_exceptions)
    try {
        return make();
    } catch (...) {
        return caught_by_caller();
    }
#else
    return make();
#endif
}

// What one node does.
class LEAT_API NodeBody {
  public:
    NodeBody() = default;
    virtual ~NodeBody();
    NodeBody(const NodeBody&) = delete;
    NodeBody& operator=(const NodeBody&) = delete;
    // Makes the value at call.output unless it returns an error. May throw.
    virtual Status call(const NodeCall& call) = 0;
};

// What can be done with a value by who does not know its type. bytes 0: void.
struct ValueType {
    size_t bytes = 0;
    size_t alignment = 1;
    void (*destroy)(void* value) = nullptr;
    void (*move)(void* to, void* from) = nullptr;  // null: the type cannot be moved
};

template <class T>
constexpr ValueType value_type() {
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        // NOLINTNEXTLINE(bugprone-sizeof-expression): a value may be a pointer
        ValueType type = {sizeof(T), alignof(T), [](void* value) { static_cast<T*>(value)->~T(); },
                          nullptr};
        if constexpr (std::is_move_constructible_v<T>) {
            type.move = [](void* to, void* from) {
                ::new (to) T(std::move(*static_cast<T*>(from)));
            };
        }
        return type;
    }
}

// std::is_copy_constructible says yes for containers of what cannot be copied.
template <class T>
constexpr bool is_copyable() {
    if constexpr (requires { typename T::value_type; }) {
        if constexpr (!std::is_same_v<typename T::value_type, T>) {
            return std::is_copy_constructible_v<T> && is_copyable<typename T::value_type>();
        }
    }
    return std::is_copy_constructible_v<T>;
}

// --- parameters of a callable ---

template <class... Ps>
struct Params {};
// Of a generic or overloaded callable: cannot be listed.
struct UnknownParams {};

template <class Member>
struct MemberParams {
    using Type = UnknownParams;
};
template <class C, class R, bool kNoexcept, class... Ps>
struct MemberParams<R (C::*)(Ps...) noexcept(kNoexcept)> {
    using Type = Params<Ps...>;
};
template <class C, class R, bool kNoexcept, class... Ps>
struct MemberParams<R (C::*)(Ps...) const noexcept(kNoexcept)> {
    using Type = Params<Ps...>;
};

template <class F>
struct ParamsOf {
    using Type = UnknownParams;
};
template <class F>
requires requires {
    &F::operator();
}
struct ParamsOf<F> : MemberParams<decltype(&F::operator())> {};
template <class R, bool kNoexcept, class... Ps>
struct ParamsOf<R (*)(Ps...) noexcept(kNoexcept)> {
    using Type = Params<Ps...>;
};

// How a value reaches a parameter.
//   kShare  as const T&
//   kOwn    moved to the only consumer, copied for one of several
//   kMove   moved: the node has to be the only consumer
enum class Pass : uint8_t { kShare, kOwn, kMove };

template <class P, class T>
constexpr Pass pass_of() {
    static_assert(!std::is_same_v<P, T&>,
                  "a value on an edge is const: take it as const T&, or by value to own it");
    if constexpr (std::is_same_v<P, T&&>) {
        return Pass::kMove;
    } else if constexpr (std::is_same_v<std::remove_cv_t<P>, T>) {
        return Pass::kOwn;
    } else if constexpr (std::is_convertible_v<const T&, P>) {
        return Pass::kShare;
    } else {
        static_assert(std::is_convertible_v<T&&, P>,
                      "an input's value does not fit the callable's parameter");
        return Pass::kMove;
    }
}

// One input of a node and the parameter that takes it.
template <class P, class Input>
struct Argument;

template <class P, class T>
struct Argument<P, Node<T>> {
    static_assert(!std::is_void_v<T>,
                  "a node without a value cannot be an input: order it with after()");
    static constexpr Pass kPass = pass_of<P, T>();
    static constexpr bool kNeedsOnlyConsumer =
        kPass == Pass::kMove || (kPass == Pass::kOwn && !is_copyable<T>());
    using Type = std::conditional_t<kPass == Pass::kShare,
                                    const T&,
                                    std::conditional_t<kPass == Pass::kMove, T&&, T>>;

    static Type get(const NodeInputs& inputs, int32_t first, int32_t /*end*/) {
        ValueSlot& slot = inputs[first];
        T& value = *static_cast<T*>(slot.address);
        if constexpr (kPass == Pass::kShare) {
            return value;
        } else if constexpr (kNeedsOnlyConsumer) {
            return std::move(value);
        } else {
            return slot.may_move ? T(std::move(value)) : T(value);
        }
    }
};

template <class P, class T>
struct Argument<P, std::vector<Node<T>>> {
    static_assert(!std::is_void_v<T>, "nodes without a value are no inputs: use after()");
    static_assert(std::is_convertible_v<Values<T>, P>,
                  "a list of nodes reaches a parameter of type Values<T>");
    static constexpr bool kNeedsOnlyConsumer = false;
    using Type = Values<T>;

    static Type get(const NodeInputs& inputs, int32_t first, int32_t end) {
        return Values<T>({inputs.slots, inputs.indices + first}, end - first);
    }
};

template <class Input>
struct SharedParam;
template <class T>
struct SharedParam<Node<T>> {
    static_assert(!std::is_void_v<T>,
                  "a node without a value cannot be an input: order it with after()");
    using Type = std::add_lvalue_reference_t<const T>;
};
template <class T>
struct SharedParam<std::vector<Node<T>>> {
    using Type = Values<T>;
};

// --- what a callable returns ---

template <class R>
struct Returned {
    using Value = R;
};
template <>
struct Returned<Status> {
    using Value = void;
};
template <class T>
struct Returned<Result<T>> {
    using Value = T;
};

// --- the body of a callable ---

template <bool kTakesScope, class F, class... Args>
struct Invocation {
    static_assert(std::is_invocable_v<F&, Args...>,
                  "the callable cannot be called with the values of the node's inputs");
    using Type = std::invoke_result_t<F&, Args...>;
};
template <class F, class... Args>
struct Invocation<true, F, Args...> {
    static_assert(std::is_invocable_v<F&, NodeScope&, Args...>,
                  "the callable cannot be called with a NodeScope& and the values of its inputs");
    using Type = std::invoke_result_t<F&, NodeScope&, Args...>;
};

template <class F, bool kTakesScope, class... Arguments>
class CallableBody final : public NodeBody {
    using R = typename Invocation<kTakesScope, F, typename Arguments::Type...>::Type;

  public:
    using Value = typename Returned<std::remove_cvref_t<R>>::Value;
    // Where the values of each input begin, and the end of the last.
    using Offsets = std::array<int32_t, sizeof...(Arguments) + 1>;

    template <class G>
    CallableBody(G&& function, const Offsets& offsets)
        : function_(std::forward<G>(function)), offsets_(offsets) {}

    Status call(const NodeCall& call) override {
        return call_with(call, std::index_sequence_for<Arguments...>{});
    }

  private:
    template <size_t... kIndex>
    R invoke([[maybe_unused]] const NodeCall& call, std::index_sequence<kIndex...> /*all*/) {
        if constexpr (kTakesScope) {
            return function_(
                call.scope, Arguments::get(call.inputs, offsets_[kIndex], offsets_[kIndex + 1])...);
        } else {
            return function_(
                Arguments::get(call.inputs, offsets_[kIndex], offsets_[kIndex + 1])...);
        }
    }
    template <class Indices>
    Status call_with(const NodeCall& call, Indices all) {
        if constexpr (std::is_void_v<R>) {
            invoke(call, all);
            return {};
        } else if constexpr (std::is_same_v<R, Status>) {
            return invoke(call, all);
        } else if constexpr (!std::is_same_v<std::remove_cvref_t<R>, Value>) {
            R result = invoke(call, all);
            if (!result.ok()) {
                return std::move(result).error();
            }
            ::new (call.output) Value(std::move(result).value());
            return {};
        } else {
            ::new (call.output) Value(invoke(call, all));
            return {};
        }
    }

    F function_;
    Offsets offsets_;
};

template <class F, class ParamList, class... Inputs>
struct BodyOf {
    static_assert(std::is_void_v<F>,
                  "the callable needs one parameter for each input, and may have a NodeScope& "
                  "before them");
};
template <class F, class... Ps, class... Inputs>
requires(sizeof...(Ps) == sizeof...(Inputs)) struct BodyOf<F, Params<Ps...>, Inputs...> {
    using Type = CallableBody<F, false, Argument<Ps, Inputs>...>;
};
template <class F, class... Ps, class... Inputs>
requires(sizeof...(Ps) ==
         sizeof...(Inputs)) struct BodyOf<F, Params<NodeScope&, Ps...>, Inputs...> {
    using Type = CallableBody<F, true, Argument<Ps, Inputs>...>;
};
// Parameters that cannot be seen are given const T&.
template <class F, class... Inputs>
struct BodyOf<F, UnknownParams, Inputs...> {
    static constexpr bool kTakesScope =
        !std::is_invocable_v<F&, typename SharedParam<Inputs>::Type...>;
    using Type =
        CallableBody<F, kTakesScope, Argument<typename SharedParam<Inputs>::Type, Inputs>...>;
};

template <class F, class... Inputs>
using Body =
    typename BodyOf<std::decay_t<F>, typename ParamsOf<std::decay_t<F>>::Type, Inputs...>::Type;

// Which inputs want their value for themselves; in the order of the arguments of a body.
template <class B>
struct OnlyConsumer;
template <class F, bool kTakesScope, class... Arguments>
struct OnlyConsumer<CallableBody<F, kTakesScope, Arguments...>> {
    static constexpr std::array<bool, sizeof...(Arguments)> kNeeds = {
        Arguments::kNeedsOnlyConsumer...};
};

}  // namespace detail

// The values of a list of inputs, in the order of the list; valid during the call.
template <class T>
class Values {
  public:
    class Iterator {
      public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using reference = const T&;
        using pointer = const T*;
        using iterator_category = std::input_iterator_tag;

        const T& operator*() const { return (*values_)[index_]; }
        Iterator& operator++() {
            ++index_;
            return *this;
        }
        Iterator operator++(int) { return {*values_, index_++}; }
        bool operator==(const Iterator& other) const { return index_ == other.index_; }

      private:
        friend class Values;
        Iterator(const Values& values, int64_t index) : values_(&values), index_(index) {}
        const Values* values_;
        int64_t index_;
    };

    Values(detail::NodeInputs inputs, int64_t count) : inputs_(inputs), count_(count) {}

    int64_t size() const { return count_; }
    // `index` in [0, size()).
    const T& operator[](int64_t index) const {
        return *static_cast<const T*>(inputs_[int32_t(index)].address);
    }
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, count_}; }

  private:
    detail::NodeInputs inputs_;
    int64_t count_;
};

}  // namespace leat::scheduler
