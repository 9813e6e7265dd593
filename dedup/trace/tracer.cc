#include "dedup/trace/tracer.h"

#include <algorithm>
#include <iterator>

#include "dedup/base/trace_origin.h"

namespace onceward {
namespace {

constexpr int random_bits = 56;  // the last seven bytes, as OpenTelemetry's samplers count them

std::uint64_t threshold(double ratio) {
    const double all = static_cast<double>(std::uint64_t{1} << random_bits);
    return static_cast<std::uint64_t>((1.0 - std::clamp(ratio, 0.0, 1.0)) * all);
}

}  // namespace

Tracer::Tracer(TracerOptions options)
    : options_(options), first_taken_(threshold(options.ratio)) {}

bool Tracer::takes(const TraceId& trace) const {
    std::uint64_t number = 0;
    for (std::size_t i = 9; i < trace.bytes.size(); ++i) number = number << 8U | trace.bytes[i];
    return number >= first_taken_;
}

std::optional<TraceContext> Tracer::root() const {
    const TraceId trace = random_trace_id();
    if (!takes(trace)) return std::nullopt;
    return TraceContext{trace, random_span_id(), true};
}

void Tracer::add(TraceSpan span) {
    if (queue_.size() >= options_.queue) {
        ++counts_.dropped;
        return;
    }
    // The process that made its parent may have been killed before it sent that span.
    const std::optional<SpanId> origin = origin_of(span.tracestate);
    if (origin && span.parent != origin && span.context.span != *origin) {
        span.links.push_back({span.context.trace, *origin, true});
    }
    queue_.push_back(std::move(span));
}

void Tracer::end(TraceSpan span) {
    if (span.end == SpanTime{}) span.end = std::chrono::system_clock::now();
    const MutexLock lock(mutex_);
    add(std::move(span));
    if (queue_.size() >= enough_) wake_.notify_one();
}

void Tracer::end(std::vector<TraceSpan> spans) {
    const SpanTime now = std::chrono::system_clock::now();
    const MutexLock lock(mutex_);
    for (TraceSpan& span : spans) {
        if (span.end == SpanTime{}) span.end = now;
        add(std::move(span));
    }
    if (queue_.size() >= enough_) wake_.notify_one();
}

std::vector<TraceSpan> Tracer::take(std::size_t enough, std::chrono::milliseconds most,
                                    const std::stop_token& stop) {
    std::vector<TraceSpan> taken;
    MutexLock lock(mutex_);
    enough_ = enough;
    wake_.wait_for(lock, stop, most,
                   [&]() ONCEWARD_REQUIRES(mutex_) { return queue_.size() >= enough; });
    const auto last = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(enough, queue_.size()));
    taken.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(last));
    queue_.erase(queue_.begin(), last);
    return taken;
}

void Tracer::exported(std::size_t spans) {
    const MutexLock lock(mutex_);
    counts_.exported += static_cast<std::int64_t>(spans);
}

void Tracer::failed(std::size_t spans) {
    const MutexLock lock(mutex_);
    counts_.failed += static_cast<std::int64_t>(spans);
}

TraceCounts Tracer::counts() const {
    const MutexLock lock(mutex_);
    TraceCounts counts = counts_;
    counts.waiting = static_cast<std::int64_t>(queue_.size());
    return counts;
}

TraceSpan begin_span(std::string name, SpanKind kind, const TraceContext& parent) {
    TraceSpan span{.name = std::move(name), .kind = kind, .context = child_of(parent)};
    span.parent = parent.span;
    return span;
}

}  // namespace onceward
