#include "support/random_bodies.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/split_mix.h"

namespace leat::testing_support {
namespace {

struct Typed {
    ValueId id;
    DType dtype = DType::kUndefined;
    Shape shape;

    bool has_type_of(const Typed& other) const {
        return dtype == other.dtype && shape == other.shape;
    }
};

// A graph that is being built, and that of the node which will have it as a body.
struct Scope {
    Graph& graph;
    Scope* around = nullptr;
    int depth = 0;
    std::vector<Typed> values;

    Typed add(std::string_view op, const std::vector<Typed>& operands, DType dtype, Shape shape) {
        std::vector<ValueId> ids;
        ids.reserve(operands.size());
        for (const Typed& operand : operands) {
            ids.push_back(operand.id);
        }
        Attributes attributes;
        if (op == "Cast") {
            attributes.emplace("to", int64_t(dtype));
        }
        values.push_back({graph.add(op, std::move(ids), std::move(attributes)), dtype, shape});
        return values.back();
    }
    Typed input(const std::string& name, const Typed& like) {
        std::vector<DimSpec> dims(like.shape.begin(), like.shape.end());
        values.push_back({graph.input(name, like.dtype, std::move(dims)), like.dtype, like.shape});
        return values.back();
    }
    // The value of a scope around, captured by each scope between.
    Typed here(const Scope& owner, const Typed& value) {
        if (this == &owner) {
            return value;
        }
        const Typed outside = around->here(owner, value);
        return {graph.capture(around->graph, outside.id), value.dtype, value.shape};
    }
};

const Shape kShapes[] = {{}, {2}, {2, 3}};

class Maker {
  public:
    explicit Maker(uint64_t seed) : random_(seed) {}

    GraphWithBodies make() {
        GraphWithBodies made;
        Scope main{made.graph, nullptr, 0, {}};
        for (int i = 0; i < 3; ++i) {
            const Typed like = any_type();
            const std::string name = "x" + std::to_string(i);
            main.input(name, like);
            made.inputs.emplace(name, elements(like));
        }
        trip_count_ = main.input("trips", scalar(DType::kInt64));
        made.inputs.emplace("trips", number(DType::kInt64, random_.below(4)));
        main_ = &main;
        const int steps = 2 + random_.below(4);
        for (int i = 0; i < steps; ++i) {
            step(main);
        }
        add_bodies(main);
        const int outputs = 1 + random_.below(3);
        for (int i = 0; i < outputs; ++i) {
            const auto last = int32_t(main.values.size()) - 1;
            made.graph.output("y" + std::to_string(i),
                              main.values[size_t(i == 0 ? last : random_.below(last + 1))].id);
        }
        return made;
    }

  private:
    bool is_drawn(int percent) { return random_.below(100) < percent; }
    static Typed scalar(DType dtype) { return {{}, dtype, {}}; }
    Typed any_type() {
        const int dtype = random_.below(10);
        return {{},
                dtype < 6   ? DType::kFloat32
                : dtype < 9 ? DType::kInt64
                            : DType::kBool,
                kShapes[random_.below(3)]};
    }

    static Tensor number(DType dtype, int64_t value) {
        if (dtype == DType::kFloat32) {
            return *Tensor::from<float>({}, std::vector<float>{float(value) / 8});
        }
        if (dtype == DType::kInt64) {
            return *Tensor::from<int64_t>({}, std::vector<int64_t>{value});
        }
        Tensor tensor = *Tensor::allocate(DType::kBool, {});
        tensor.mutable_bytes()[0] = std::byte(value != 0);
        return tensor;
    }
    Tensor elements(const Typed& like) {
        Tensor tensor = *Tensor::allocate(like.dtype, like.shape);
        for (int64_t i = 0; i < tensor.element_count(); ++i) {
            const int drawn = random_.below(16) - 8;
            if (like.dtype == DType::kFloat32) {
                tensor.mutable_data<float>()[size_t(i)] = float(drawn) / 8;
            } else if (like.dtype == DType::kInt64) {
                tensor.mutable_data<int64_t>()[size_t(i)] = drawn;
            } else {
                tensor.mutable_bytes()[i] = std::byte(drawn & 1);
            }
        }
        return tensor;
    }
    Typed constant(Scope& scope, const Typed& like) {
        const std::string name = "c" + std::to_string(++constants_);
        const Typed made{scope.graph.constant(name, elements(like)), like.dtype, like.shape};
        scope.values.push_back(made);
        return made;
    }

    // A value of that type, of this graph or captured.
    std::optional<Typed> find(Scope& scope, const Typed& like) {
        for (Scope* owner = &scope; owner != nullptr; owner = owner->around) {
            std::vector<Typed> fitting;
            for (const Typed& value : owner->values) {
                if (value.has_type_of(like)) {
                    fitting.push_back(value);
                }
            }
            if (!fitting.empty() && (owner->around == nullptr || is_drawn(60))) {
                return scope.here(*owner, fitting[size_t(random_.below(int32_t(fitting.size())))]);
            }
        }
        return std::nullopt;
    }
    Typed any(Scope& scope, const Typed& like) {
        const std::optional<Typed> found = is_drawn(85) ? find(scope, like) : std::nullopt;
        return found ? *found : constant(scope, like);
    }

    void step(Scope& scope) {
        if (scope.depth < kDeepestBodies && is_drawn(35)) {
            add_bodies(scope);
            return;
        }
        const Typed type = any_type();
        const Typed a = any(scope, type);
        if (type.dtype == DType::kBool) {
            const char* const ops[] = {"And", "Or", "Xor"};
            scope.add(ops[random_.below(3)], {a, any(scope, type)}, type.dtype, type.shape);
            return;
        }
        const char* const ops[] = {"Add", "Sub", "Max", "Min", "Neg", "Where", "Less", "Identity"};
        const std::string op = ops[random_.below(8)];
        if (op == "Where") {
            const Typed which = any(scope, {{}, DType::kBool, type.shape});
            scope.add(op, {which, a, any(scope, type)}, type.dtype, type.shape);
        } else if (op == "Less") {
            scope.add(op, {a, any(scope, type)}, DType::kBool, type.shape);
        } else if (op == "Neg" || op == "Identity") {
            scope.add(op, {a}, type.dtype, type.shape);
        } else {
            // Of the sum of what is in [-1, 1] a half is.
            const bool is_float = type.dtype == DType::kFloat32;
            const Typed sum = scope.add(op, {a, any(scope, type)}, type.dtype, type.shape);
            const Typed by{scope.graph.constant("by" + std::to_string(++constants_),
                                                number(type.dtype, is_float ? 4 : 7)),
                           type.dtype,
                           {}};
            scope.add(is_float ? "Mul" : "Mod", {sum, by}, type.dtype, type.shape);
        }
    }

    void add_bodies(Scope& scope) {
        const int which = random_.below(4);
        if (which == 0) {
            add_if(scope);
        } else if (which == 3) {
            add_scan(scope);
        } else {
            add_loop(scope);
        }
    }
    void steps_in(Scope& body) {
        const int steps = random_.below(4);
        for (int i = 0; i < steps; ++i) {
            step(body);
        }
    }
    std::vector<Typed> types(int at_least, int bound) {
        std::vector<Typed> drawn(size_t(at_least + random_.below(bound)));
        for (Typed& type : drawn) {
            type = any_type();
        }
        return drawn;
    }
    void output(Scope& body, const std::string& name, const Typed& like) {
        body.graph.output(name, any(body, like).id);
    }
    static void add_results(Scope& scope,
                            const std::vector<ValueId>& ids,
                            const std::vector<Typed>& results) {
        for (size_t i = 0; i < results.size(); ++i) {
            scope.values.push_back({ids[i], results[i].dtype, results[i].shape});
        }
    }
    Typed stacked(const Typed& part, int axis, int64_t count) {
        std::vector<int64_t> extents(part.shape.begin(), part.shape.end());
        extents.insert(extents.begin() + axis, count);
        return {{}, part.dtype, Shape(extents)};
    }

    void add_if(Scope& scope) {
        const std::vector<Typed> results = types(1, 2);
        const ValueId condition = any(scope, scalar(DType::kBool)).id;
        Graph branches[] = {Graph("then"), Graph("else")};
        for (Graph& branch : branches) {
            Scope body{branch, &scope, scope.depth + 1, {}};
            steps_in(body);
            for (size_t i = 0; i < results.size(); ++i) {
                output(body, "r" + std::to_string(i), results[i]);
            }
        }
        add_results(scope,
                    scope.graph.if_(condition, std::move(branches[0]), std::move(branches[1])),
                    results);
    }

    void add_loop(Scope& scope) {
        const std::vector<Typed> carried = types(0, 3);
        const std::vector<Typed> parts = types(carried.empty() ? 1 : 0, 2);
        const int64_t trips = random_.below(4);
        const bool has_fixed_trips = !parts.empty() || is_drawn(60);
        const ValueId count = has_fixed_trips
                                  ? scope.graph.constant("m" + std::to_string(++constants_),
                                                         number(DType::kInt64, trips))
                                  : scope.here(*main_, trip_count_).id;
        const bool may_end = parts.empty() && is_drawn(50);
        const ValueId condition = may_end ? any(scope, scalar(DType::kBool)).id : ValueId{};
        std::vector<ValueId> initial;
        initial.reserve(carried.size());
        for (const Typed& type : carried) {
            initial.push_back(any(scope, type).id);
        }
        Graph graph("body");
        Scope body{graph, &scope, scope.depth + 1, {}};
        body.input("i", scalar(DType::kInt64));
        const Typed before = body.input("before", scalar(DType::kBool));
        std::vector<Typed> values;
        for (size_t i = 0; i < carried.size(); ++i) {
            values.push_back(body.input("v" + std::to_string(i), carried[i]));
        }
        steps_in(body);
        graph.output("goes_on", may_end ? any(body, scalar(DType::kBool)).id : before.id);
        const bool rotates = values.size() == 2 && values[0].has_type_of(values[1]);
        for (size_t i = 0; i < carried.size(); ++i) {
            if (rotates) {
                graph.output("next" + std::to_string(i), values[1 - i].id);
            } else {
                output(body, "next" + std::to_string(i), carried[i]);
            }
        }
        std::vector<Typed> results = carried;
        for (size_t i = 0; i < parts.size(); ++i) {
            output(body, "part" + std::to_string(i), parts[i]);
            results.push_back(stacked(parts[i], 0, trips));
        }
        add_results(scope, scope.graph.loop(count, condition, initial, std::move(graph)), results);
    }

    void add_scan(Scope& scope) {
        const std::vector<Typed> states = types(0, 2);
        const std::vector<Typed> slices = types(1, 2);
        const std::vector<Typed> parts = types(states.empty() ? 1 : 0, 2);
        const int64_t length = 1 + random_.below(3);
        Graph graph("body");
        Scope body{graph, &scope, scope.depth + 1, {}};
        Attributes attributes;
        std::vector<ValueId> initial;
        for (size_t i = 0; i < states.size(); ++i) {
            initial.push_back(any(scope, states[i]).id);
            body.input("s" + std::to_string(i), states[i]);
        }
        std::vector<ValueId> scanned;
        std::vector<int64_t> axes;
        std::vector<int64_t> directions;
        for (size_t i = 0; i < slices.size(); ++i) {
            axes.push_back(random_.below(slices[i].shape.rank() + 1));
            directions.push_back(random_.below(2));
            scanned.push_back(any(scope, stacked(slices[i], int(axes.back()), length)).id);
            body.input("x" + std::to_string(i), slices[i]);
        }
        attributes.emplace("scan_input_axes", axes);
        attributes.emplace("scan_input_directions", directions);
        steps_in(body);
        for (size_t i = 0; i < states.size(); ++i) {
            output(body, "next" + std::to_string(i), states[i]);
        }
        std::vector<Typed> results = states;
        axes.clear();
        for (size_t i = 0; i < parts.size(); ++i) {
            output(body, "part" + std::to_string(i), parts[i]);
            axes.push_back(random_.below(parts[i].shape.rank() + 1));
            results.push_back(stacked(parts[i], int(axes.back()), length));
        }
        if (!parts.empty()) {
            attributes.emplace("scan_output_axes", axes);
        }
        add_results(scope,
                    scope.graph.scan(initial, scanned, std::move(graph), std::move(attributes)),
                    results);
    }

    SplitMix random_;
    int constants_ = 0;
    Scope* main_ = nullptr;
    Typed trip_count_;
};

}  // namespace

GraphWithBodies random_graph_with_bodies(uint64_t seed) {
    return Maker(seed).make();
}

}  // namespace leat::testing_support
