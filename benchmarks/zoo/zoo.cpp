#include "zoo.h"

#include <fmt/core.h>

#include <limits>
#include <vector>

#include "networks.h"
#include "parameters.h"
#include "suggestion.h"

namespace leat::zoo {
namespace {

constexpr ParameterInfo kBatch{"batch", 1, 0, 4096, "images or sequences at once; 0: any number"};
constexpr ParameterInfo kSize{"size", 224, 32, 4096, "height and width of the image in pixels"};
constexpr ParameterInfo kSeed{"seed", 0, 0, std::numeric_limits<int32_t>::max(), "of the weights"};
constexpr ParameterInfo kTokens{"tokens", 128, 1, 1024, "length of the sequence"};
constexpr ParameterInfo kLayers{"layers", 12, 1, 1000, "number of blocks"};
constexpr ParameterInfo kWidth{"width", 768, 1, 65536, "of the hidden state"};
constexpr ParameterInfo kHeads{"heads", 0, 0, 4096, "of the attention; 0: one for 64 of width"};

constexpr ParameterInfo kImageParameters[] = {kBatch, kSize, kSeed};
constexpr ParameterInfo kVitParameters[] = {kBatch, kSize, kLayers, kWidth, kHeads, kSeed};
constexpr ParameterInfo kBertParameters[] = {
    kBatch, kTokens, kLayers,
    kWidth, kHeads,  {"vocab", 30522, 1, 10000000, "rows of the word table"},
    kSeed};
constexpr ParameterInfo kVocabulary{"vocab", 50257, 1, 10000000, "rows of the token table"};
constexpr ParameterInfo kGpt2Parameters[] = {kBatch, kTokens,     kLayers, kWidth,
                                             kHeads, kVocabulary, kSeed};
constexpr ParameterInfo kDecodeParameters[] = {
    kBatch,  {"cached", 512, 1, 1023, "tokens in the key and value cache"},
    kLayers, kWidth,
    kHeads,  kVocabulary,
    kSeed};

constexpr NetworkInfo kNetworks[] = {
    {"resnet50", "ResNet-50 v1.5, image classification", kImageParameters, build_resnet50},
    {"mobilenet_v2", "MobileNetV2 1.0, image classification", kImageParameters, build_mobilenet_v2},
    {"squeezenet1_1", "SqueezeNet 1.1, image classification", kImageParameters,
     build_squeezenet1_1},
    {"vit_b16", "Vision transformer B/16", kVitParameters, build_vit_b16},
    {"bert_base", "BERT base, encoder and pooler", kBertParameters, build_bert_base},
    {"gpt2", "GPT-2 small: logits and cache of a whole prompt", kGpt2Parameters, build_gpt2},
    {"gpt2_decode", "GPT-2 small: one token after `cached` others", kDecodeParameters,
     build_gpt2_decode},
};

Result<Parameters> parse_spec(std::string_view spec) {
    size_t question = spec.find('?');
    std::string_view name = spec.substr(0, question);
    std::vector<std::string_view> names;
    for (const NetworkInfo& network : kNetworks) {
        names.push_back(network.name);
        if (network.name == name) {
            return Parameters::parse(network, question == std::string_view::npos
                                                  ? std::string_view()
                                                  : spec.substr(question + 1));
        }
    }
    return Status(StatusCode::kNotFound, fmt::format("no network '{}'{} There are: {}", name,
                                                     did_you_mean(name, names), comma_list(names)));
}

}  // namespace

std::span<const NetworkInfo> networks() {
    return kNetworks;
}

Result<Graph> make_network(std::string_view spec) {
    Result<Parameters> parameters = parse_spec(spec);
    if (!parameters.ok()) {
        return parameters.error();
    }
    return parameters->network().build(*parameters);
}

Result<std::string> full_spec(std::string_view spec) {
    Result<Parameters> parameters = parse_spec(spec);
    if (!parameters.ok()) {
        return parameters.error();
    }
    std::string text(parameters->network().name);
    char separator = '?';
    for (const ParameterInfo& info : parameters->network().parameters) {
        text += fmt::format("{}{}={}", separator, info.name, (*parameters)[info.name]);
        separator = ',';
    }
    return text;
}

}  // namespace leat::zoo
