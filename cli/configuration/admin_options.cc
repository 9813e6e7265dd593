#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> admin_options = {
    {"admin.metrics", "open",
     into([](To& to) { return &to.configuration.admin_access.metrics_need_look; },
          {"open", "look"}),
     "Who may read `/metrics`: everybody who reaches the port, or who has the role `look`. "
     "`/livez` and `/readyz` are always open.",
     "With `look` the scraper needs a token or a certificate."},
    {"admin.tls.certificate", "",
     into([](To& to) { return &to.configuration.admin_access.certificate_file; }),
     "A PEM file with the certificate and its chain; relative to this configuration's folder. "
     "Without it the admin port speaks plain HTTP, and tokens that may operate are accepted only "
     "on loopback.",
     "Probes and scrapers have to use HTTPS then."},
    {"admin.tls.key", "", into([](To& to) { return &to.configuration.admin_access.key_file; }),
     "The PEM file with the certificate's private key."},
    {"admin.tls.client_ca", "",
     into([](To& to) { return &to.configuration.admin_access.client_ca_file; }),
     "A PEM file with the authorities whose certificates clients may show, for "
     "`admin.look.certificates` and `admin.operate.certificates`. A client without a "
     "certificate is not turned away: it may have a token, and probes need neither."},
    {"admin.look.tokens", "",
     into([](To& to) { return &to.configuration.admin_access.look.tokens; }),
     "Bearer tokens that may read, each under a name that logs and the audit log show: "
     "`{grafana: \"${file:grafana.token}\"}`. 16 bytes or more. A secret: it is never printed. "
     "As soon as one token or certificate is named, here or in `admin.operate`, reading needs "
     "one; without any, it is open on loopback and closed elsewhere.",
     "A token is replaced by a restart."},
    {"admin.look.certificates", "",
     into([](To& to) { return &to.configuration.admin_access.look.subjects; }),
     "Subjects of client certificates that may read, as RFC 2253 writes them: "
     "`CN=grafana,O=Example`."},
    {"admin.operate.tokens", "",
     into([](To& to) { return &to.configuration.admin_access.operate.tokens; }),
     "The same for tokens that may also act: pause, resume, redrive, discard, forget. Without "
     "any token or certificate here nobody can act at the admin port.",
     "Who has such a token may do what the operator's commands do, so give each person one."},
    {"admin.operate.certificates", "",
     into([](To& to) { return &to.configuration.admin_access.operate.subjects; }),
     "Subjects of client certificates that may also act."},
};

}  // namespace onceward
