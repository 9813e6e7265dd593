#include "cli/size/estimate.h"

#include <algorithm>
#include <cstdio>

#include "cli/size/figures.h"
#include "cli/terminal/quantities.h"

namespace onceward {
namespace {

// `97.2 million x 108 bytes`
std::string product(const std::string& count, const figures::Figure& figure,
                    const std::string& unit) {
    return count + " x " + short_number(figure.value) + " " + unit;
}

Estimate log_disk(const Claims& claims) {
    const double sealed = claims.live - claims.open;
    return {sealed * figures::log_disk.value + claims.open * figures::log_open_disk.value,
            product(count_text(sealed), figures::log_disk, "bytes") + " + " +
                product(count_text(claims.open), figures::log_open_disk, "bytes (open)")};
}

// By the highest measured figure: a process that lacks memory ends.
double log_claims_memory(const Claims& claims) {
    return (claims.live - claims.open) * figures::log_memory.value +
           claims.open * figures::log_open_memory_most.value;
}

Estimate log_memory(const Claims& claims, std::int64_t most) {
    const double sealed = claims.live - claims.open;
    const auto limit = static_cast<double>(most);
    return {std::min(log_claims_memory(claims), limit),
            "at most " + bytes_text(limit) + " (memory.claims) of " +
                product(count_text(sealed), figures::log_memory, "bytes") + " + " +
                product(count_text(claims.open), figures::log_open_memory_most,
                        "bytes (open; at least " +
                            short_number(figures::log_open_memory_least.value) + ")")};
}

Estimate per_second(const Workload& workload, const figures::Figure& figure,
                    const std::string& unit) {
    return {workload.rate * figure.value,
            product(count_text(workload.rate) + "/s", figure, unit)};
}

// Cores: CPU seconds per second.
Estimate cores(const Workload& workload, const figures::Figure& figure) {
    return {workload.rate / 1e6 * figure.value,
            product(short_number(workload.rate / 1e6) + " million/s", figure, "CPU s a million")};
}

Estimate log_cores(const Workload& workload) {
    Estimate all = cores(workload, figures::log_worker);
    const double others = static_cast<double>(workload.processes - 1);
    all.value += workload.rate / 1e6 * figures::log_reading.value * others;
    if (others > 0) {
        all.formula += " + " + product(short_number(others) + " further processes x " +
                                           short_number(workload.rate / 1e6) + " million/s",
                                       figures::log_reading, "CPU s a million");
    }
    return all;
}

}  // namespace

Claims claims_of(const Workload& workload) {
    const auto kept = static_cast<double>((workload.retention + workload.rotate_after).count());
    Claims claims;
    claims.live = workload.rate * kept;
    claims.open = std::min({workload.rate * static_cast<double>(workload.rotate_after.count()),
                            static_cast<double>(workload.rotate_claims), claims.live});
    return claims;
}

SizeEstimate estimate(StoreKind store, const Workload& workload) {
    const Claims claims = claims_of(workload);
    SizeEstimate made{.store = store};
    made.row_wal = {workload.rate * static_cast<double>(workload.message_bytes),
                    count_text(workload.rate) + "/s x " + std::to_string(workload.message_bytes) +
                        " bytes"};
    made.start = {figures::start.value, short_number(figures::start.value) + " s"};
    switch (store) {
        case StoreKind::table:
            made.disk = {claims.live * figures::table_disk.value,
                         product(count_text(claims.live), figures::table_disk, "bytes")};
            made.memory = {0, "none: claims are looked up in the index"};
            made.wal = per_second(workload, figures::table_wal, "bytes");
            made.worker_cores = cores(workload, figures::table_worker);
            made.server_cores = cores(workload, figures::table_server);
            break;
        case StoreKind::log:
            made.disk = log_disk(claims);
            made.memory = log_memory(claims, workload.memory_claims);
            made.claims_memory = log_claims_memory(claims);
            made.wal = per_second(workload, figures::log_wal, "bytes");
            made.worker_cores = log_cores(workload);
            made.server_cores = cores(workload, figures::log_server);
            made.start.value += claims.live / 1e6 * figures::log_start.value;
            made.start.formula += " + " + product(count_text(claims.live), figures::log_start,
                                                  "s a million");
            break;
        case StoreKind::lease:
            // Each key is deleted at its retention's end; there is no generation.
            made.disk = {workload.rate * static_cast<double>(workload.retention.count()) *
                             figures::lease_disk.value,
                         product(count_text(workload.rate *
                                            static_cast<double>(workload.retention.count())),
                                 figures::lease_disk, "bytes")};
            made.memory = {0, "none: keys are looked up in the index"};
            made.wal = per_second(workload, figures::lease_wal, "bytes");
            break;
    }
    return made;
}

}  // namespace onceward
