#include "cli/keys/published_keys.h"

#include <algorithm>
#include <vector>

#include "dedup/base/text.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {
namespace {

constexpr std::string_view id_kind = "header:onceward-id";

struct Publication {
    const std::string& topic;
    OutboxPlace place;
};

std::vector<Publication> publications_of(const TopicConfiguration& source) {
    std::vector<Publication> all;
    if (const auto* outbox = std::get_if<OutboxOptions>(&source.sink)) {
        all.push_back({outbox->topic, OutboxPlace::sink});
    }
    if (source.also_publish) all.push_back({source.also_publish->topic, OutboxPlace::also_publish});
    return all;
}

}  // namespace

void follow_published(const Configuration& configuration, const TopicConfiguration& source,
                      const Digest& digest,
                      const std::function<std::vector<Digest>(const PublishedKey&)>& found) {
    struct Place {
        const TopicConfiguration* source;
        Digest digest;
        std::size_t hops;
    };
    std::vector<Place> open{{&source, digest, 0}};
    while (!open.empty()) {
        const Place from = open.back();
        open.pop_back();
        // Topics that publish in a circle would make new ids for ever.
        if (from.hops >= configuration.topics.size()) continue;
        for (const auto& [topic, place] : publications_of(*from.source)) {
            const auto reader =
                std::ranges::find(configuration.topics, topic, &TopicConfiguration::name);
            if (reader == configuration.topics.end()) continue;
            KeyScope scope = scope_of(*reader);
            std::erase_if(scope.kinds,
                          [](const std::string& kind) { return lower_case(kind) != id_kind; });
            if (scope.kinds.empty()) continue;
            const std::string id = uuid_text(outbox_id(topic, place, from.digest));
            for (const Digest& next : found({*from.source, *reader, scope, id})) {
                open.push_back({&*reader, next, from.hops + 1});
            }
        }
    }
}

}  // namespace onceward
