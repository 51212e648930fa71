#include "backends/queues/plants.h"

namespace leat::queues {
namespace {

struct PlantName {
    std::string_view name;
    Plant plant;
};

constexpr PlantName kPlants[] = {
    {"none", Plant::kNone},
    {"signals_early", Plant::kSignalsEarly},
    {"ignores_waits", Plant::kIgnoresWaits},
    {"reorders", Plant::kReorders},
    {"runs_poisoned", Plant::kRunsPoisoned},
    {"loss_without_error", Plant::kLossWithoutError},
    {"writes_outside", Plant::kWritesOutside},
    {"reads_arguments_late", Plant::kReadsArgumentsLate},
    {"blocks_in_submit", Plant::kBlocksInSubmit},
    {"callback_on_caller", Plant::kCallbackOnCaller},
    {"callback_twice", Plant::kCallbackTwice},
    {"callback_early", Plant::kCallbackEarly},
    {"ignores_cancel", Plant::kIgnoresCancel},
    {"allocates_in_execute", Plant::kAllocatesInExecute},
    {"wrong_actual_size", Plant::kWrongActualSize},
    {"ends_inputs_early", Plant::kEndsInputsEarly},
    {"leaks_thread", Plant::kLeaksThread},
};

}  // namespace

Plants::Plants(const LeatSettings* settings) {
    const char* wanted = plugin::find_setting(settings, "plant");
    for (const PlantName& row : kPlants) {
        if (wanted == nullptr || row.name == wanted) {
            plant_ = row.plant;
            return;
        }
    }
    plugin::invalid_argument(std::string("no plant is called ").append(wanted));
}

}  // namespace leat::queues
