// ViT-B/16 (torchvision), BERT base with pooler and GPT-2 small (transformers).
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "net_builder.h"
#include "networks.h"
#include "parameters.h"

namespace leat::zoo {
namespace {

struct Dims {
    int64_t batch = 0;  // 0: any; in the shape of a Reshape, what the input has
    DimSpec batch_dim = DimSpec::unknown();  // of the inputs
    int64_t tokens = 0;
    int64_t width = 0;
    int64_t heads = 0;
    int64_t layers = 0;

    int64_t head_width() const { return width / heads; }
    std::vector<int64_t> hidden() const { return {batch, tokens, width}; }
    std::vector<int64_t> split() const { return {batch, tokens, heads, head_width()}; }
};

// Reads what every transformer has; `tokens` is left to the caller.
Result<Dims> read_dims(const Parameters& parameters) {
    Dims dims;
    dims.batch = parameters["batch"];
    dims.batch_dim = parameters.batch();
    dims.width = parameters["width"];
    dims.layers = parameters["layers"];
    dims.heads = parameters["heads"];
    if (dims.heads == 0) {
        dims.heads = dims.width % 64 == 0 ? dims.width / 64 : 1;
    }
    if (dims.width % dims.heads != 0) {
        return Status(StatusCode::kInvalidArgument,
                      fmt::format("network '{}': width {} is not a multiple of heads {}",
                                  parameters.network().name, dims.width, dims.heads));
    }
    return dims;
}

struct Qkv {
    ValueId q;
    ValueId k;
    ValueId v;
};

// One matrix product for all three, then Split; each result is [batch, heads, tokens, head width].
Qkv fused_qkv(NetBuilder& net, const std::string& name, ValueId x, const Dims& dims) {
    ValueId all = net.linear(name, x, dims.width, 3 * dims.width);
    std::vector<ValueId> parts =
        net.graph().add_multi("Split", {all, net.ints({dims.width, dims.width, dims.width})}, 3,
                              {{"axis", int64_t{2}}}, name + ".split");
    return {net.split_heads(name + ".q", parts[0], dims.split()),
            net.split_heads(name + ".k", parts[1], dims.split()),
            net.split_heads(name + ".v", parts[2], dims.split())};
}

// softmax(q k^T / sqrt(d) + mask) v, back to [batch, tokens, width]. mask may be absent.
ValueId attend(
    NetBuilder& net, const std::string& name, const Qkv& qkv, ValueId mask, const Dims& dims) {
    Graph& graph = net.graph();
    ValueId k_transposed = graph.add(
        "Transpose", {qkv.k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}, name + ".k_transpose");
    ValueId scores = graph.add("MatMul", {qkv.q, k_transposed}, {}, name + ".scores");
    float scale = 1.0F / std::sqrt(float(dims.head_width()));
    scores = graph.add("Mul", {scores, net.scalar(scale)}, {}, name + ".scale");
    if (mask.valid()) {
        scores = graph.add("Add", {scores, mask}, {}, name + ".mask");
    }
    ValueId weights = graph.add("Softmax", {scores}, {{"axis", int64_t{-1}}}, name + ".softmax");
    ValueId context = graph.add("MatMul", {weights, qkv.v}, {}, name + ".context");
    context = graph.add("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}},
                        name + ".transpose");
    return net.reshape(name + ".reshape", context, dims.hidden());
}

// width -> 4 width -> Gelu -> width.
ValueId mlp(NetBuilder& net,
            const std::vector<std::string>& names,
            ValueId x,
            const Dims& dims,
            std::string approximate) {
    ValueId y = net.linear(names[0], x, dims.width, 4 * dims.width);
    y = net.graph().add("Gelu", {y}, {{"approximate", std::move(approximate)}}, names[0] + ".gelu");
    // The input of a residual sum: scaled so that the sum over all layers keeps its size (GPT-2).
    float gain = 1.0F / std::sqrt(2.0F * float(dims.layers));
    return net.linear(names[1], y, 4 * dims.width, dims.width, 2.0F * gain);
}

ValueId attention_output(NetBuilder& net, const std::string& name, ValueId x, const Dims& dims) {
    return net.linear(name, x, dims.width, dims.width, 2.0F / std::sqrt(2.0F * float(dims.layers)));
}

ValueId embedding(
    NetBuilder& net, const std::string& name, int64_t rows, const Dims& dims, float deviation) {
    return net.parameter(name, {rows, dims.width}, {0, deviation});
}

// Rows [begin, begin + count) of a table of positions.
ValueId position_rows(NetBuilder& net, ValueId table, int64_t begin, int64_t count) {
    return net.graph().add("Slice",
                           {table, net.ints({begin}), net.ints({begin + count}), net.ints({0})}, {},
                           "position_slice");
}

Status check_positions(const Parameters& parameters, int64_t needed, int64_t available) {
    if (needed <= available) {
        return Status();
    }
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("network '{}' has {} positions; {} are needed",
                              parameters.network().name, available, needed));
}

// [1, 1, tokens, tokens], 0 where a token may look and the lowest float where it may not.
ValueId causal_mask(NetBuilder& net, int64_t tokens) {
    std::vector<float> mask(size_t(tokens * tokens), 0.0F);
    for (int64_t row = 0; row < tokens; ++row) {
        for (int64_t column = row + 1; column < tokens; ++column) {
            mask[size_t(row * tokens + column)] = std::numeric_limits<float>::lowest();
        }
    }
    return net.floats("causal_mask", {1, 1, tokens, tokens}, mask);
}

// attention_mask [batch, tokens] of 1 and 0 -> [batch, 1, 1, tokens] of 0 and the lowest float.
ValueId padding_mask(NetBuilder& net, ValueId attention_mask) {
    Graph& graph = net.graph();
    ValueId mask =
        graph.add("Unsqueeze", {attention_mask, net.ints({1, 2})}, {}, "attention_mask.unsqueeze");
    mask = graph.add("Cast", {mask}, {{"to", int64_t(DType::kFloat32)}}, "attention_mask.cast");
    mask = graph.add("Sub", {net.scalar(1), mask}, {}, "attention_mask.invert");
    return graph.add("Mul", {mask, net.scalar(std::numeric_limits<float>::lowest())}, {},
                     "attention_mask.scale");
}

// The decoder blocks of GPT-2. cached > 0: keys and values of so many earlier tokens come as
// inputs.
ValueId gpt2_blocks(NetBuilder& net, ValueId x, ValueId mask, int64_t cached, const Dims& dims) {
    Graph& graph = net.graph();
    for (int64_t layer = 0; layer < dims.layers; ++layer) {
        std::string name = fmt::format("h.{}", layer);
        ValueId normal = net.layer_norm(name + ".ln_1", x, dims.width, 1e-5F);
        Qkv qkv = fused_qkv(net, name + ".attn.c_attn", normal, dims);
        std::string present = fmt::format("present.{}", layer);
        if (cached > 0) {
            std::vector<DimSpec> past{dims.batch_dim, dims.heads, cached, dims.head_width()};
            ValueId past_k = graph.input(fmt::format("past.{}.key", layer), DType::kFloat32, past);
            ValueId past_v =
                graph.input(fmt::format("past.{}.value", layer), DType::kFloat32, past);
            Attributes along_tokens{{"axis", int64_t{2}}};
            qkv.k = graph.add("Concat", {past_k, qkv.k}, along_tokens, name + ".attn.k_concat");
            qkv.v = graph.add("Concat", {past_v, qkv.v}, along_tokens, name + ".attn.v_concat");
        }
        graph.output(present + ".key", qkv.k);
        graph.output(present + ".value", qkv.v);
        ValueId context = attend(net, name + ".attn", qkv, mask, dims);
        context = attention_output(net, name + ".attn.c_proj", context, dims);
        x = graph.add("Add", {x, context}, {}, name + ".add_1");
        normal = net.layer_norm(name + ".ln_2", x, dims.width, 1e-5F);
        ValueId y = mlp(net, {name + ".mlp.c_fc", name + ".mlp.c_proj"}, normal, dims, "tanh");
        x = graph.add("Add", {x, y}, {}, name + ".add_2");
    }
    return net.layer_norm("ln_f", x, dims.width, 1e-5F);
}

// Prefill (cached == 0) or one step of decoding; the output layer shares the token table.
Result<Graph> build_decoder(const Parameters& parameters, int64_t tokens, int64_t cached) {
    constexpr int64_t kPositions = 1024;
    if (Status status = check_positions(parameters, tokens + cached, kPositions); !status.ok()) {
        return status;
    }
    Result<Dims> read = read_dims(parameters);
    if (!read.ok()) {
        return read.error();
    }
    Dims dims = *read;
    dims.tokens = tokens;
    int64_t vocabulary = parameters["vocab"];
    NetBuilder net(std::string(parameters.network().name), parameters["seed"]);
    Graph& graph = net.graph();
    ValueId ids = graph.input("input_ids", DType::kInt64, {dims.batch_dim, tokens});
    // 1/sqrt(width) gives logits of deviation 1; positions add a quarter of that.
    float deviation = 1.0F / std::sqrt(float(dims.width));
    ValueId table = embedding(net, "wte.weight", vocabulary, dims, deviation);
    ValueId positions = embedding(net, "wpe.weight", kPositions, dims, 0.5F * deviation);
    ValueId x = graph.add("Gather", {table, ids}, {{"axis", int64_t{0}}}, "wte.gather");
    x = graph.add("Add", {x, position_rows(net, positions, cached, tokens)}, {}, "embeddings");
    ValueId mask = tokens > 1 ? causal_mask(net, tokens) : ValueId{};
    x = gpt2_blocks(net, x, mask, cached, dims);
    x = net.reshape("lm_head.flatten", x, {dims.batch == 0 ? -1 : dims.batch * tokens, dims.width});
    x = graph.add("Gemm", {x, table}, {{"transB", int64_t{1}}}, "lm_head");
    graph.output("logits", net.reshape("lm_head.reshape", x,
                                       {dims.batch == 0 ? -1 : dims.batch, tokens, vocabulary}));
    return net.finish();
}

// [batch, 1, width], of the image's batch where that is open.
ValueId class_token_shape(NetBuilder& net, ValueId image, const Dims& dims) {
    if (dims.batch != 0) {
        return net.ints({dims.batch, 1, dims.width});
    }
    Graph& graph = net.graph();
    ValueId batch =
        graph.add("Shape", {image}, {{"start", int64_t{0}}, {"end", int64_t{1}}}, "batch");
    return graph.add("Concat", {batch, net.ints({1, dims.width})}, {{"axis", int64_t{0}}},
                     "class_token.shape");
}

}  // namespace

Result<Graph> build_vit_b16(const Parameters& parameters) {
    constexpr int64_t kPatch = 16;
    constexpr int64_t kClasses = 1000;
    int64_t size = parameters["size"];
    if (size % kPatch != 0) {
        return Status(StatusCode::kInvalidArgument,
                      fmt::format("network 'vit_b16': size {} is not a multiple of 16", size));
    }
    Result<Dims> read = read_dims(parameters);
    if (!read.ok()) {
        return read.error();
    }
    Dims dims = *read;
    int64_t patches = (size / kPatch) * (size / kPatch);
    dims.tokens = patches + 1;
    NetBuilder net("vit_b16", parameters["seed"]);
    Graph& graph = net.graph();
    ValueId image = graph.input("input", DType::kFloat32, {dims.batch_dim, 3, size, size});
    Image grid =
        net.conv("conv_proj", {image, 3},
                 {.out_channels = dims.width, .kernel = kPatch, .stride = kPatch, .bias = true});
    ValueId x = net.reshape("patches.reshape", grid.value, {dims.batch, dims.width, patches});
    x = graph.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}}, "patches.transpose");
    ValueId cls = net.parameter("class_token", {1, 1, dims.width}, {0, 1});
    cls = graph.add("Expand", {cls, class_token_shape(net, image, dims)}, {}, "class_token.expand");
    x = graph.add("Concat", {cls, x}, {{"axis", int64_t{1}}}, "tokens");
    ValueId positions =
        net.parameter("encoder.pos_embedding", {1, dims.tokens, dims.width}, {0, 0.5F});
    x = graph.add("Add", {x, positions}, {}, "embeddings");
    for (int64_t layer = 0; layer < dims.layers; ++layer) {
        std::string name = fmt::format("encoder.layers.encoder_layer_{}", layer);
        ValueId normal = net.layer_norm(name + ".ln_1", x, dims.width, 1e-6F);
        Qkv qkv = fused_qkv(net, name + ".self_attention.in_proj", normal, dims);
        ValueId y = attend(net, name + ".self_attention", qkv, ValueId{}, dims);
        y = attention_output(net, name + ".self_attention.out_proj", y, dims);
        x = graph.add("Add", {x, y}, {}, name + ".add_1");
        normal = net.layer_norm(name + ".ln_2", x, dims.width, 1e-6F);
        y = mlp(net, {name + ".mlp.0", name + ".mlp.3"}, normal, dims, "none");
        x = graph.add("Add", {x, y}, {}, name + ".add_2");
    }
    x = net.layer_norm("encoder.ln", x, dims.width, 1e-6F);
    x = graph.add("Gather", {x, net.int_scalar(0)}, {{"axis", int64_t{1}}}, "class_token.gather");
    graph.output("output", net.linear("heads.head", x, dims.width, kClasses));
    return net.finish();
}

Result<Graph> build_bert_base(const Parameters& parameters) {
    constexpr int64_t kPositions = 512;
    constexpr float kEpsilon = 1e-12F;
    Result<Dims> read = read_dims(parameters);
    if (!read.ok()) {
        return read.error();
    }
    Dims dims = *read;
    dims.tokens = parameters["tokens"];
    if (Status status = check_positions(parameters, dims.tokens, kPositions); !status.ok()) {
        return status;
    }
    NetBuilder net("bert_base", parameters["seed"]);
    Graph& graph = net.graph();
    ValueId ids = graph.input("input_ids", DType::kInt64, {dims.batch_dim, dims.tokens});
    ValueId attention_mask =
        graph.input("attention_mask", DType::kInt64, {dims.batch_dim, dims.tokens});
    ValueId types = graph.input("token_type_ids", DType::kInt64, {dims.batch_dim, dims.tokens});
    std::string stem = "embeddings.";
    ValueId words = embedding(net, stem + "word_embeddings.weight", parameters["vocab"], dims, 1);
    ValueId positions = embedding(net, stem + "position_embeddings.weight", kPositions, dims, 0.5F);
    ValueId kinds = embedding(net, stem + "token_type_embeddings.weight", 2, dims, 0.5F);
    Attributes by_row{{"axis", int64_t{0}}};
    ValueId x = graph.add("Gather", {words, ids}, by_row, stem + "words");
    ValueId kind = graph.add("Gather", {kinds, types}, by_row, stem + "types");
    x = graph.add("Add", {x, kind}, {}, stem + "add_types");
    x = graph.add("Add", {x, position_rows(net, positions, 0, dims.tokens)}, {},
                  stem + "add_positions");
    x = net.layer_norm(stem + "LayerNorm", x, dims.width, kEpsilon);
    ValueId mask = padding_mask(net, attention_mask);
    for (int64_t layer = 0; layer < dims.layers; ++layer) {
        std::string name = fmt::format("encoder.layer.{}.", layer);
        std::string self = name + "attention.self";
        auto project = [&](const char* part) {
            ValueId y = net.linear(self + part, x, dims.width, dims.width);
            return net.split_heads(self + part, y, dims.split());
        };
        Qkv qkv{project(".query"), project(".key"), project(".value")};
        ValueId y = attend(net, self, qkv, mask, dims);
        y = attention_output(net, name + "attention.output.dense", y, dims);
        x = graph.add("Add", {x, y}, {}, name + "attention.output.add");
        x = net.layer_norm(name + "attention.output.LayerNorm", x, dims.width, kEpsilon);
        y = mlp(net, {name + "intermediate.dense", name + "output.dense"}, x, dims, "none");
        x = graph.add("Add", {x, y}, {}, name + "output.add");
        x = net.layer_norm(name + "output.LayerNorm", x, dims.width, kEpsilon);
    }
    graph.output("last_hidden_state", x);
    ValueId first =
        graph.add("Gather", {x, net.int_scalar(0)}, {{"axis", int64_t{1}}}, "pooler.gather");
    ValueId pooled = net.linear("pooler.dense", first, dims.width, dims.width);
    graph.output("pooler_output", graph.add("Tanh", {pooled}, {}, "pooler.tanh"));
    return net.finish();
}

Result<Graph> build_gpt2(const Parameters& parameters) {
    return build_decoder(parameters, parameters["tokens"], 0);
}

Result<Graph> build_gpt2_decode(const Parameters& parameters) {
    return build_decoder(parameters, 1, parameters["cached"]);
}

}  // namespace leat::zoo
