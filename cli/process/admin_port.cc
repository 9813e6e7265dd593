#include "cli/process/admin_port.h"

#include "cli/composition/memory_budget.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto try_every = 5s;  // A process that ends may hold the port for a while.

}  // namespace

AdminPort::AdminPort(std::optional<ListenAddress> address, const WorkerSlots& slots,
                     const std::vector<ConnectionOptions>& servers,
                     std::chrono::milliseconds totals_every,
                     std::function<void(ProcessStatus&)> complete, AdminConfiguration access,
                     AdminActs act, const CurrentConfiguration* page)
    : address_(std::move(address)),
      slots_(slots),
      complete_(std::move(complete)),
      access_(std::move(access)),
      act_(std::move(act)) {
    if (address_) {
        const std::string group = slots.status().group;
        for (const ConnectionOptions& server : servers) {
            totals_.push_back(std::make_unique<GroupTotals>(server, group, totals_every));
        }
    }
    if (address_ && page != nullptr && AdminPage::wanted(*page->get())) {
        page_ = std::make_unique<AdminPage>(*page, [this] { return status(); });
    }
    tend();
}

AdminPort::~AdminPort() {
    // Its answers belong to the server, which ends first.
    if (page_) page_->stop();
}

std::optional<ListenAddress> AdminPort::address() const {
    if (!server_) return std::nullopt;
    return server_->address();
}

ProcessStatus AdminPort::status() const {
    ProcessStatus status = slots_.status();
    if (complete_) complete_(status);
    return status;
}

std::string AdminPort::metrics() {
    ProcessStatus status = this->status();
    status.resident_bytes = ResidentMemory().bytes();
    for (const auto& server : totals_) add(status.durable, server->get());
    return metrics_text(status);
}

void AdminPort::tend() {
    if (!address_ || server_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_try_) return;
    next_try_ = now + try_every;
    try {
        AdminServer::Sources sources{[this] { return liveness(slots_.status()); },
                                     [this] { return readiness(status()); },
                                     [this] { return metrics(); }, slots_.status().group,
                                     access_, act_};
        if (page_) {
            sources.page = [this](const HttpRequest& request, const HttpServer::Answer& answer) {
                return page_->handle(request, answer);
            };
        }
        server_ = std::make_unique<AdminServer>(*address_, std::move(sources));
        log_info("admin.listening", {{"host", server_->address().host},
                                     {"port", server_->address().port},
                                     {"page", page_ ? "on" : "off"}});
    } catch (const AdminError& error) {
        if (!told_) log_error("admin.unavailable", {{"error", error.what()}});
        told_ = true;
    }
}

}  // namespace onceward
