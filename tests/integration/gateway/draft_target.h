#pragma once
// What the draft's cases are sent to: a table under a ledger of each store, or an upstream. A body
// that begins with `fail` is a final failure (402), any other one is carried out (201). Used by one
// test; owns what it carries requests out with.

#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "gateway/to_upstream/upstream_requests.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/database.h"
#include "tests/support/recording_server.h"

namespace onceward::support {

class DraftTarget {
  public:
    virtual ~DraftTarget() = default;
    // As the route has it.
    virtual RouteTarget route() const = 0;
    virtual FrontDoor::Parts parts() = 0;
    virtual std::int64_t effects() = 0;
    // From now on no request comes to its end, until let_go().
    virtual void hold() = 0;
    // Waits until one is held; false where none is for thirty seconds.
    virtual bool one_is_held() = 0;
    virtual void let_go() = 0;
};

class SinkDraftTarget final : public DraftTarget {
  public:
    explicit SinkDraftTarget(StoreKind store);
    RouteTarget route() const override { return SinkTarget{}; }
    FrontDoor::Parts parts() override { return {.keyed = batcher_.get()}; }
    std::int64_t effects() override;
    void hold() override;
    bool one_is_held() override;
    void let_go() override;

  private:
    FreshSchema schema_;
    std::string table_;
    std::unique_ptr<SinkBatcher> batcher_;
    std::optional<Database> holder_;  // ends first: a batch may wait for it
};

class UpstreamDraftTarget final : public DraftTarget {
  public:
    UpstreamDraftTarget();
    ~UpstreamDraftTarget() override;
    RouteTarget route() const override { return upstream_; }
    FrontDoor::Parts parts() override { return {.keyed = requests_.get()}; }
    std::int64_t effects() override;
    void hold() override;
    bool one_is_held() override;
    void let_go() override;

  private:
    RecordedAnswer answer(const std::string& body);

    FreshSchema schema_;
    std::mutex mutex_;
    std::promise<void> go_;
    std::shared_future<void> gone_;  // valid while calls are held
    RecordingServer server_;
    UpstreamTarget upstream_;
    std::unique_ptr<UpstreamRequests> requests_;
};

}  // namespace onceward::support
