#pragma once
// The options in which two configurations differ, by what the options mean: a preset and the
// sources that it stands for are the same, and so are a default and the same value written out.
// Every option takes part, also one that is added later. Pure.

#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

struct Differences {
    std::vector<std::string> process;  // options outside of `topics`, such as `postgres.dsn`
    struct Topic {
        const TopicConfiguration* now = nullptr;
        const TopicConfiguration* next = nullptr;
        std::vector<std::string> options;  // such as `key.tenant`; empty if it is as it was
    };
    std::vector<Topic> topics;  // that both have, in the new order
    std::vector<const TopicConfiguration*> added;
    std::vector<const TopicConfiguration*> removed;
};

// Borrows both.
Differences differences(const Configuration& now, const Configuration& next);

}  // namespace onceward
