#include "lab/bench/measurement.h"

namespace onceward::bench {
namespace {

template <class Of>
std::vector<double> values(const std::vector<Measurement>& runs, Of of) {
    std::vector<double> found;
    for (const Measurement& run : runs) found.push_back(of(run));
    return found;
}

template <class Of>
double median_a_million(const std::vector<Measurement>& runs, Of of) {
    return summarize(values(runs,
                            [&](const Measurement& run) {
                                return of(run) / static_cast<double>(run.messages) * 1e6;
                            }))
        .median;
}

}  // namespace

std::vector<double> rates(const std::vector<Measurement>& runs) {
    return values(runs, [](const Measurement& run) { return run.rate(); });
}

std::vector<double> wal_bytes(const std::vector<Measurement>& runs) {
    return values(runs, [](const Measurement& run) { return run.wal_bytes_per_message(); });
}

std::vector<double> p99s(const std::vector<Measurement>& runs,
                         std::vector<double> CommitTimes::*times) {
    return values(runs, [&](const Measurement& run) { return percentile(run.times.*times, 0.99); });
}

Line line(std::string setting, const std::vector<Measurement>& runs) {
    Line made;
    made.setting = std::move(setting);
    made.rate = summarize(rates(runs));
    made.wal = summarize(wal_bytes(runs)).median;
    made.cpu.worker = median_a_million(runs, [](const Measurement& run) { return run.cpu.worker; });
    made.cpu.postgres =
        median_a_million(runs, [](const Measurement& run) { return run.cpu.postgres; });
    made.cpu.broker = median_a_million(runs, [](const Measurement& run) { return run.cpu.broker; });
    return made;
}

}  // namespace onceward::bench
