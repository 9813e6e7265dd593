#include <algorithm>
#include <cstdint>
#include <optional>

#include "cli/check/connect.h"
#include "cli/configuration/units.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::int64_t for_ever = -1;

// Milliseconds, or for ever; nullopt if the brokers do not say.
std::optional<std::int64_t> kept(const std::map<std::string, std::string>& properties) {
    const auto policy = properties.find("cleanup.policy");
    const bool deletes =
        policy == properties.end() || policy->second.find("delete") != std::string::npos;
    if (!deletes) return for_ever;  // the last message of each record key
    const auto found = properties.find("retention.ms");
    if (found == properties.end()) return std::nullopt;
    const auto number = number_of<std::int64_t>(found->second);
    return number ? std::optional(std::max(*number, for_ever)) : std::nullopt;
}

}  // namespace

std::string rewind_warning(const std::map<std::string, std::string>& properties,
                           std::chrono::seconds claims_kept) {
    const std::optional<std::int64_t> messages = kept(properties);
    if (!messages) return "";
    const std::chrono::milliseconds time(*messages);
    if (*messages != for_ever && time <= claims_kept) return "";
    const std::string claims = duration_text(claims_kept);
    const std::string log = *messages == for_ever ? "ever" : duration_text(time);
    const std::string remedy = *messages == for_ever
                                   ? "Write a `retention` as long as the longest rewind"
                                   : "Write `retention: " + log + "`";
    return "The topic keeps its messages for " + log + ", its ledger their claims for " + claims +
           ": a rewind that reaches further back applies a SECOND time what was applied before. " +
           remedy + ", or never rewind further than " + claims + ".";
}

}  // namespace onceward
