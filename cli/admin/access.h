#pragma once
// Who may do what at the admin port: a request's credentials to a caller with a role. Pure;
// thread-safe; throws nothing.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/configuration/configuration.h"
#include "dedup/message/digest.h"
#include "gateway/http/http.h"

namespace onceward {

enum class AdminRole : std::uint8_t { look, operate };
std::string_view to_text(AdminRole role);

struct AdminCaller {
    std::string who;  // a token's name or a certificate's subject; '' if nobody has to say
    AdminRole role = AdminRole::look;
};

struct AdminRefusal {
    int status = 401;
    std::string title;
    std::string detail;
};
// As problem details (RFC 9457).
HttpResponse to_response(const AdminRefusal& refusal);

class AdminAccess {
  public:
    // `on_loopback`: only this machine reaches the port, and may then look without credentials if
    // none are configured.
    AdminAccess(const AdminConfiguration& configuration, bool on_loopback);

    // The caller, if the request may do what needs this role. A request that acts has to come from
    // a page of this port or from a program: see refuse_other_sites().
    std::variant<AdminCaller, AdminRefusal> admit(const HttpRequest& request,
                                                  AdminRole wanted) const;
    bool metrics_need_look() const { return metrics_need_look_; }

  private:
    struct Token {
        std::string name;
        Digest digest;  // so that a comparison tells nothing of the token
        AdminRole role;
    };
    std::variant<AdminCaller, AdminRefusal> caller_of(const HttpRequest& request) const;
    std::vector<Token> tokens_;
    std::vector<std::pair<std::string, AdminRole>> subjects_;
    bool open_ = false;  // to look, without credentials
    bool metrics_need_look_ = false;
};

// Whether everybody on this machine may look: only this machine reaches the port, and the
// configuration names no token and no certificate. `Host` then has to name this machine. With
// credentials any name is fine, such as that of a proxy which ends TLS.
bool open_to_this_machine(const AdminConfiguration& configuration, bool on_loopback);

// Whether `Host` names this machine itself.
// DANGER: a page of any site can make its own name mean 127.0.0.1, and would then read here as this
// machine does (DNS rebinding). The name is in `Host`.
bool names_this_machine(const HttpHeaders& headers);

// A request that acts must have this header; its value does not matter. A form of another site
// cannot send it, and a script of one has to ask first, which is never allowed.
inline constexpr const char* act_header = "Onceward-Act";

}  // namespace onceward
