#include "dedup/postgres/connection_string.h"

#include <libpq-fe.h>

#include <memory>

namespace onceward {

namespace {

using Parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Parsed parse(const Secret& dsn) {
    return {PQconninfoParse(dsn.reveal().c_str(), nullptr), &PQconninfoFree};
}

}  // namespace

bool valid_connection_string(const Secret& dsn) { return parse(dsn) != nullptr; }

std::vector<std::string> environment_of(const Secret& dsn) {
    std::vector<std::string> entries;
    const Parsed parsed = parse(dsn);
    // The last one has no keyword.
    for (const PQconninfoOption* option = parsed.get(); option && option->keyword; ++option) {
        if (option->envvar == nullptr || option->val == nullptr) continue;
        entries.push_back(std::string(option->envvar) + "=" + option->val);
    }
    return entries;
}

}  // namespace onceward
