#include "cli/plan/differences.h"

#include <algorithm>
#include <map>

#include "cli/configuration/values.h"

namespace onceward {
namespace {

using Values = std::map<std::string, Secret>;

const TopicConfiguration* find(const Configuration& configuration, const std::string& name) {
    const auto found =
        std::ranges::find(configuration.topics, name, &TopicConfiguration::name);
    return found == configuration.topics.end() ? nullptr : &*found;
}

// Some options are computed from others, or written in two ways: the resulting values are compared.
Values values_of(const Configuration& configuration, const TopicConfiguration& topic) {
    const std::string begin = topic.path + ".";
    Values values;
    for (auto at = configuration.values.lower_bound(begin);
         at != configuration.values.end() && at->first.starts_with(begin); ++at) {
        values.emplace(at->first.substr(begin.size()), at->second);
    }
    values.erase("key.preset");
    values["key.sources"] = canonical_text(topic.key.sources);
    values["key.operation"] = topic.key.operation;
    values["ledger.name"] = topic.ledger;
    return values;
}

Values values_of_process(const Configuration& configuration) {
    Values values = configuration.values;
    std::erase_if(values, [](const auto& value) { return value.first.starts_with("topics["); });
    return values;
}

std::vector<std::string> differing(const Values& now, const Values& next) {
    std::vector<std::string> names;
    for (const auto& [name, value] : next) {
        const auto before = now.find(name);
        if (before == now.end() || before->second != value) names.push_back(name);
    }
    for (const auto& [name, value] : now) {
        if (!next.contains(name)) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

Differences differences(const Configuration& now, const Configuration& next) {
    Differences found;
    found.process = differing(values_of_process(now), values_of_process(next));
    for (const TopicConfiguration& topic : next.topics) {
        const TopicConfiguration* const before = find(now, topic.name);
        if (before == nullptr) {
            found.added.push_back(&topic);
        } else {
            found.topics.push_back(
                {before, &topic, differing(values_of(now, *before), values_of(next, topic))});
        }
    }
    for (const TopicConfiguration& topic : now.topics) {
        if (find(next, topic.name) == nullptr) found.removed.push_back(&topic);
    }
    return found;
}

}  // namespace onceward
