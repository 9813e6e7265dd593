#pragma once
// The further keys that follow from an idempotency key: an outbox publishes its message under an id
// that is made of the key, and the reader of that topic takes the id (`onceward-id`) for its own
// key. Plain values; pure.

#include <functional>
#include <string>

#include "cli/configuration/configuration.h"
#include "cli/keys/key_scope.h"

namespace onceward {

struct PublishedKey {
    const TopicConfiguration& from;    // what published the record
    const TopicConfiguration& reader;  // of the topic to which it went
    KeyScope scope;                    // only with the kinds that read the id
    std::string id;                    // as `onceward-id` has it
};

// Calls `found` with each key that a message with this digest, of that topic or route, has in a
// topic of the configuration. `found` returns the digests of that key there, which are followed
// too.
void follow_published(const Configuration& configuration, const TopicConfiguration& source,
                      const Digest& digest,
                      const std::function<std::vector<Digest>(const PublishedKey&)>& found);

}  // namespace onceward
