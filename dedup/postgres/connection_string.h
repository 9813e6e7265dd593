#pragma once
// Looks at a connection string without connecting. Pure; thread-safe.

#include "dedup/secret.h"

namespace onceward {

// Whether libpq understands it: `host=... dbname=...` or `postgresql://...`. Only yes or no, as
// libpq's own words repeat parts of the text, which may be the password.
bool valid_connection_string(const Secret& dsn);

}  // namespace onceward
