#pragma once
// Checks a connection string without connecting. Pure; thread-safe.

#include <string>
#include <vector>

#include "dedup/base/secret.h"

namespace onceward {

// Whether libpq understands it: `host=... dbname=...` or `postgresql://...`. Only yes or no, as
// libpq's own words repeat parts of the text, which may be the password. No if a URI's host or port
// must be the rest of a password with an `@` or a `/`, or if `port` or `sslmode` cannot have its
// value.
bool valid_connection_string(const Secret& dsn);

// What is probably wrong with one that is not valid, as a sentence with a blank before it: Java's
// prefix, a variable without braces, an impossible value, a URI's password, a misspelt keyword. ''
// if nothing is known. It never repeats a value, which may be the password.
std::string connection_string_hint(const Secret& dsn);

// The passwords that it holds, also that of a key file. Empty if libpq does not understand it.
std::vector<Secret> passwords_of(const Secret& dsn);

// The same as libpq's environment variables, `PGHOST=...` and so on, for another program. May hold
// the password. Empty if libpq does not understand it.
std::vector<std::string> environment_of(const Secret& dsn);

}  // namespace onceward
