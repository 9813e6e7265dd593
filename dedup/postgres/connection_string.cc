#include "dedup/postgres/connection_string.h"

#include <libpq-fe.h>

#include <memory>

namespace onceward {

bool valid_connection_string(const Secret& dsn) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
        PQconninfoParse(dsn.reveal().c_str(), nullptr), &PQconninfoFree);
    return parsed != nullptr;
}

}  // namespace onceward
