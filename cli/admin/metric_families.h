#pragma once
// The families of one scrape, in the order in which they come, and the metrics of one thing, which
// share labels. Plain values for one thread; each call names a metric of metric_list.h.

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/admin/metric_list.h"

namespace onceward {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

class MetricFamilies {
  public:
    void add(const MetricSpec& spec, prometheus::MetricType type,
             prometheus::ClientMetric metric) {
        const auto [found, is_new] = places_.emplace(&spec, families_.size());
        if (is_new) {
            families_.push_back({std::string(spec.name), std::string(spec.meaning), type, {}});
        }
        families_[found->second].metric.push_back(std::move(metric));
    }
    std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    std::vector<prometheus::MetricFamily> families_;
    std::map<const MetricSpec*, std::size_t> places_;
};

// The metrics of one thing: each has these labels, and some have more. It borrows the families.
struct Metrics {
    using Counter = Listed<MetricKind::counter>;
    using Gauge = Listed<MetricKind::gauge>;
    MetricFamilies& families;
    MetricLabels labels{};

    template <class Number>
    void counter(Counter of, Number value, const MetricLabels& more = {}) const {
        prometheus::ClientMetric metric = labelled(more);
        metric.counter.value = static_cast<double>(value);
        families.add(of.spec(), prometheus::MetricType::Counter, std::move(metric));
    }
    // One for each value of another label.
    void counters(Counter of, const std::string& label,
                  std::initializer_list<std::pair<const char*, std::int64_t>> values) const {
        for (const auto& [value, count] : values) counter(of, count, {{label, value}});
    }
    template <class Number>
    void gauge(Gauge of, Number value, const MetricLabels& more = {}) const {
        prometheus::ClientMetric metric = labelled(more);
        metric.gauge.value = static_cast<double>(value);
        families.add(of.spec(), prometheus::MetricType::Gauge, std::move(metric));
    }
    template <class Histogram>
    void histogram(Listed<MetricKind::histogram> of, const Histogram& durations,
                   const MetricLabels& more = {}) const {
        prometheus::ClientMetric metric = labelled(more);
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < durations.counts.size(); ++i) {
            count += static_cast<std::uint64_t>(durations.counts[i]);
            const bool last = i == Histogram::bounds.size();
            metric.histogram.bucket.push_back(
                {count, last ? std::numeric_limits<double>::infinity() : Histogram::bounds[i]});
        }
        metric.histogram.sample_count = count;
        metric.histogram.sample_sum = durations.sum;
        families.add(of.spec(), prometheus::MetricType::Histogram, std::move(metric));
    }

  private:
    prometheus::ClientMetric labelled(const MetricLabels& more) const {
        prometheus::ClientMetric metric;
        metric.label = labels;
        metric.label.insert(metric.label.end(), more.begin(), more.end());
        return metric;
    }
};

}  // namespace onceward
