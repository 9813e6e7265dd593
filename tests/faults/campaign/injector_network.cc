// The faults of the proxies: what becomes of connections and of the bytes on them.
#include "tests/faults/campaign/injector.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::CommitFault;
using support::CuttingProxy;

namespace {

bool is_latency(FaultKind kind) {
    return kind == FaultKind::kafka_latency || kind == FaultKind::postgres_latency;
}

}  // namespace

void Injector::cut(const FaultPlan& fault, CuttingProxy& proxy) {
    const std::uint64_t before = proxy.cuts();
    proxy.cut_all();
    count(fault, support::eventually(200ms, [&] { return proxy.cuts() > before; }),
          "no connection to cut");
}

void Injector::byte_cut(const FaultPlan& fault, CuttingProxy& proxy) {
    const std::uint64_t before = proxy.byte_cuts();
    proxy.cut_at(fault.target % 2 == 0 ? CuttingProxy::Direction::to_server
                                       : CuttingProxy::Direction::to_client,
                 fault.amount);
    // The limit holds for connections that begin now.
    proxy.cut_all();
    go_on(fault, [this, fault, &proxy, before] {
        proxy.cut_nowhere();
        count(fault, proxy.byte_cuts() > before, "no connection came so far");
    });
}

void Injector::black_hole(const FaultPlan& fault, CuttingProxy& proxy) {
    proxy.black_hole(true);
    const std::uint64_t before = proxy.bytes();
    go_on(fault, [this, fault, &proxy, before] {
        const std::uint64_t in_the_hole = proxy.bytes();
        proxy.black_hole(false);
        // Half of the holes end in a reset, the others as if nothing had been.
        if (fault.target % 2 == 0) proxy.cut_all();
        const bool waited = support::eventually(200ms, [&] { return proxy.bytes() > in_the_hole; });
        count(fault, waited && in_the_hole - before < 200'000, "nobody wanted to say anything");
    });
}

void Injector::slow_down(const FaultPlan& fault, CuttingProxy& proxy) {
    const bool latency = is_latency(fault.kind);
    if (latency) {
        proxy.delay(milliseconds(fault.amount));
    } else {
        proxy.limit(fault.amount);
    }
    const std::uint64_t before = proxy.bytes();
    go_on(fault, [this, fault, latency, &proxy, before] {
        if (latency) {
            proxy.delay(0ms);
        } else {
            proxy.limit(0);
        }
        count(fault, proxy.bytes() > before, "no bytes came");
    });
}

void Injector::at_commits(const FaultPlan& fault, CommitFault what) {
    const std::size_t number = commits_->add(what, fault.amount);
    const bool hole = what == CommitFault::hole_before || what == CommitFault::hole_after;
    go_on(fault, [this, fault, hole, number] {
        const std::int64_t met = commits_->finish(number);
        // Nothing but a cut ends such a hole: the peer acknowledges every byte.
        if (hole && met > 0) parts_.stage.postgres_proxy().cut_all();
        if (met > 0) {
            parts_.tally.count(fault.kind, met);
        } else {
            parts_.tally.nothing(fault.kind, "no COMMIT came");
        }
    });
}

}  // namespace onceward::campaign
