#include "gateway/contract/describe.h"

#include "gateway/contract/contract_sentences.h"

namespace onceward {
namespace {

std::string section(const std::string& heading, const std::vector<ContractSentence>& lines) {
    std::string text = heading + "\n";
    for (const ContractSentence& line : lines) {
        const std::size_t gap = line.name.size() < 14 ? 14 - line.name.size() : 1;
        text += "  " + line.name + std::string(gap, ' ') + line.text + "\n";
    }
    return text;
}

}  // namespace

std::string duration_words(std::chrono::seconds duration) {
    const auto count = duration.count();
    if (count > 0 && count % 3600 == 0) return std::to_string(count / 3600) + " h";
    if (count > 0 && count % 60 == 0) return std::to_string(count / 60) + " min";
    return std::to_string(count) + " s";
}

std::string contract_text(const Contract& contract) {
    std::string text = contract.title + "\n\n";
    for (const RouteContract& route : contract.routes) {
        text += section(operation_of(route.route.pattern), contract_sentences(route)) + "\n";
    }
    return text + section("Every route", common_lines(contract.server));
}

}  // namespace onceward
