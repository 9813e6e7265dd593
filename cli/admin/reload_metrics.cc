#include "cli/admin/reload_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace onceward {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::string reload_metrics(const std::optional<ReloadState>& reload) {
    if (!reload) return "";
    MetricFamily reloads{"onceward_reloads_total",
                         "Times that the process was asked to reload its configuration.",
                         MetricType::Counter,
                         {}};
    const auto count = [&](const char* result, std::int64_t value) {
        ClientMetric metric;
        metric.label = {{"result", result}};
        metric.counter.value = static_cast<double>(value);
        reloads.metric.push_back(std::move(metric));
    };
    count("applied", reload->applied);
    count("unchanged", reload->unchanged);
    count("refused", reload->refused);
    std::vector<MetricFamily> families{std::move(reloads)};
    if (reload->last_success) {
        const std::chrono::duration<double> since = reload->last_success->time_since_epoch();
        ClientMetric metric;
        metric.gauge.value = since.count();
        families.push_back({"onceward_reload_last_success_timestamp_seconds",
                            "When a reload last succeeded, since 1970-01-01 UTC.",
                            MetricType::Gauge,
                            {metric}});
    }
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace onceward
