#include "cli/operate/redrive_rules.h"

#include <algorithm>

namespace onceward {
namespace {

bool keys_are_places(const KeyOptions& key) {
    return key.on_missing == KeyPolicy::derive || key.on_invalid == KeyPolicy::derive ||
           std::ranges::any_of(key.sources, [](const KeySource& source) {
               return source.kind == KeySource::Kind::coordinates;
           });
}

}  // namespace

RedriveRules rules_for(RedriveRules asked, const TopicConfiguration& topic) {
    asked.by_key = topic.reject.order == RejectPolicy::Order::by_key;
    asked.keys_are_places = keys_are_places(topic.key);
    return asked;
}

}  // namespace onceward
