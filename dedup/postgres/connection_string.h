#pragma once
// Looks at a connection string without connecting. Pure; thread-safe.

#include <string>
#include <vector>

#include "dedup/secret.h"

namespace onceward {

// Whether libpq understands it: `host=... dbname=...` or `postgresql://...`. Only yes or no, as
// libpq's own words repeat parts of the text, which may be the password.
bool valid_connection_string(const Secret& dsn);

// The same as libpq's environment variables, `PGHOST=...` and so on, for another program. May hold
// the password. Empty where libpq does not understand it.
std::vector<std::string> environment_of(const Secret& dsn);

}  // namespace onceward
