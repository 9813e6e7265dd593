#include <set>

#include "cli/configuration/checks.h"
#include "cli/configuration/option.h"
#include "dedup/postgres/connection_string.h"

namespace onceward {
namespace {

constexpr std::size_t shortest_token = 16;

// RFC 6750, 2.1, without the `=` at the end, which such a token may have too.
bool good_token(const std::string& token) {
    return token.size() >= shortest_token && has_only(token, "-._~+/=");
}

void check_tokens(const HeaderList& tokens, const std::string& option, const Section& at,
                  std::set<std::string>& names, std::set<std::string>& values) {
    for (const auto& [name, token] : tokens) {
        at.check({
            {!good_token(token.reveal()), option,
             "The token `" + name +
                 "` (not shown) has to be 16 bytes or more of letters, digits and `-._~+/=`. Write "
                 "the output of `openssl rand -hex 32`."},
            {!names.insert(name).second, option,
             "The token name `" + name + "` is given twice. The audit log needs one for each."},
            {!values.insert(token.reveal()).second, option,
             "The token `" + name + "` has the value of another one. Write another value."},
        });
    }
}

void check_files(const AdminConfiguration& admin, const Section& at) {
    const bool certificate = !admin.certificate_file.empty();
    const bool key = !admin.key_file.empty();
    at.check({
        {certificate && !key, "tls.certificate",
         "TLS needs a certificate and its key. Write `admin.tls.key` too."},
        {key && !certificate, "tls.key",
         "TLS needs a certificate and its key. Write `admin.tls.certificate` too."},
        {!admin.client_ca_file.empty() && !certificate, "tls.client_ca",
         "Clients show certificates over TLS alone. Write `admin.tls.certificate` and "
         "`admin.tls.key`."},
    });
    const std::pair<const char*, const std::string*> files[] = {
        {"tls.certificate", &admin.certificate_file},
        {"tls.key", &admin.key_file},
        {"tls.client_ca", &admin.client_ca_file},
    };
    for (const auto& [option, file] : files) {
        if (!file->empty()) check_file(*file, option, at);
    }
}

void check_use(const Section& at) {
    for (const char* option :
         {"metrics", "tls.certificate", "tls.key", "tls.client_ca", "look.tokens",
          "look.certificates", "operate.tokens", "operate.certificates"}) {
        if (!at.given(option)) continue;
        at.warning(option,
                   "This does nothing with `admin.listen: off`. Write an address there, or remove "
                   "this.");
    }
}

// Where other machines reach the port, what needs the role `look` is closed if nobody is named. A
// value that is not known yet (a variable) names somebody as well.
void check_readers(const AdminConfiguration& admin, bool page, const Section& at) {
    for (const char* option :
         {"look.tokens", "look.certificates", "operate.tokens", "operate.certificates"}) {
        if (at.given(option)) return;
    }
    const std::string nobody =
        "`admin.listen` is not a loopback address and no token or certificate is named, so nobody "
        "could read this. Write `admin.look.tokens`, ";
    at.check({
        {admin.metrics_need_look, "metrics", nobody + "or `metrics: open`."},
        {page, "page", nobody + "or remove this."},
    });
}

}  // namespace

// DANGER: an operator's token must not go over a network in clear: anybody who reads it there can
// discard dead letters and forget keys. A proxy that ends TLS on the same machine reaches the
// loopback.
void check_admin_access(const Configuration& configuration, Report& report) {
    const AdminConfiguration& admin = configuration.admin_access;
    const Section at(report, "admin");
    check_files(admin, at);
    if (configuration.admin_text == "off") check_use(at);
    std::set<std::string> names, values;
    check_tokens(admin.look.tokens, "look.tokens", at, names, values);
    check_tokens(admin.operate.tokens, "operate.tokens", at, names, values);
    const std::string no_authority =
        "Certificates are judged by their authority. Write `admin.tls.client_ca`.";
    const bool elsewhere = configuration.admin && !is_loopback(*configuration.admin);
    const bool in_clear = elsewhere && admin.certificate_file.empty();
    at.check({
        {admin.client_ca_file.empty() && !admin.look.subjects.empty(), "look.certificates",
         no_authority},
        {admin.client_ca_file.empty() && !admin.operate.subjects.empty(), "operate.certificates",
         no_authority},
        {in_clear && !admin.operate.tokens.empty(), "operate.tokens",
         "`admin.listen` is reached by other machines, and a token that may operate would go over "
         "the network in clear. Write `admin.tls.certificate` and `admin.tls.key`, or listen at "
         "127.0.0.1."},
    });
    if (elsewhere) check_readers(admin, configuration.admin_page == true, at);
    if (in_clear && !admin.look.tokens.empty()) {
        at.warning("look.tokens",
                   "These tokens go over the network in clear. Write `admin.tls.certificate` and "
                   "`admin.tls.key`.");
    }
    const Section servers(report, "postgres");
    check_operator_address(configuration.operator_dsn, servers);
}

void check_operator_address(const Secret& dsn, const Section& at) {
    if (dsn.empty() || valid_connection_string(dsn)) return;
    at.error("operator_dsn",
             "libpq does not understand this connection string (not shown, because it may hold a "
             "password)." +
                 connection_string_hint(dsn));
}

}  // namespace onceward
