#include "tests/integration/gateway/draft_target.h"

#include "cli/composition/keyed_routes.h"
#include "tests/support/eventually.h"

namespace onceward::support {

SinkDraftTarget::SinkDraftTarget(StoreKind store)
    : table_(order_table(schema_)),
      batcher_(std::make_unique<SinkBatcher>(order_batcher(schema_, table_, store))) {}

std::int64_t SinkDraftTarget::effects() {
    return schema_.database().number("SELECT count(*) FROM " + table_);
}

void SinkDraftTarget::hold() {
    holder_.emplace(schema_.server().dsn);
    holder_->execute("BEGIN; LOCK TABLE " + table_ + " IN SHARE MODE");
}

bool SinkDraftTarget::one_is_held() {
    return eventually(std::chrono::seconds(30), [&] {
        return schema_.database().number(
                   "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + table_ +
                   "'::regclass") > 0;
    });
}

void SinkDraftTarget::let_go() { holder_.reset(); }

UpstreamDraftTarget::UpstreamDraftTarget()
    : server_([this](const RecordedCall& call, int) { return answer(call.body); }) {
    upstream_.url = Secret("http://127.0.0.1:" + std::to_string(server_.port()));
    upstream_.allow_private = {"127.0.0.1"};
    upstream_.timeout = std::chrono::seconds(60);
    upstream_.concurrency = 2;
    UpstreamRequestOptions options;
    options.postgres = schema_.worker();
    options.ledger.name = "charges";
    options.ledger.store = StoreKind::lease;
    options.ledger.stores_results = true;
    options.ledger.lease = std::chrono::seconds(120);
    options.service = "shop";
    options.name = "POST /orders/{id}";
    options.key_header = "Idempotency-Key";
    options.upstream = upstream_;
    options.client = [upstream = upstream_, bytes = options.limits.max_bytes] {
        return make_upstream_client(upstream, bytes);
    };
    requests_ = std::make_unique<UpstreamRequests>(std::move(options));
}

UpstreamDraftTarget::~UpstreamDraftTarget() {
    let_go();
    requests_.reset();
}

std::int64_t UpstreamDraftTarget::effects() {
    return static_cast<std::int64_t>(server_.calls().size());
}

void UpstreamDraftTarget::hold() {
    const std::lock_guard lock(mutex_);
    go_ = {};
    gone_ = go_.get_future().share();
}

// A call is written down before it is answered.
bool UpstreamDraftTarget::one_is_held() {
    return eventually(std::chrono::seconds(30), [&] { return effects() > 0; });
}

void UpstreamDraftTarget::let_go() {
    const std::lock_guard lock(mutex_);
    if (!gone_.valid()) return;
    go_.set_value();
    gone_ = {};
}

RecordedAnswer UpstreamDraftTarget::answer(const std::string& body) {
    std::shared_future<void> gone;
    {
        const std::lock_guard lock(mutex_);
        gone = gone_;
    }
    if (gone.valid()) gone.wait();
    const bool failed = body.starts_with("fail");
    return {.status = failed ? 402 : 201, .body = failed ? "no" : "made"};
}

}  // namespace onceward::support
