#include "cli/process/slot_worker.h"

#include <utility>

namespace onceward {
namespace {

class KafkaWorker final : public SlotWorker {
  public:
    explicit KafkaWorker(WorkerOptions options) : worker_(std::move(options)) {}
    void start() override { worker_.start(); }
    void stop() override { worker_.stop(); }
    std::optional<std::string> finished() const override { return worker_.finished(); }
    Worker::Status status() const override { return worker_.status(); }
    std::optional<FetchSuspect> suspect() const override { return worker_.suspect(); }

  private:
    Worker worker_;
};

}  // namespace

std::unique_ptr<SlotWorker> make_slot_worker(WorkerOptions options) {
    return std::make_unique<KafkaWorker>(std::move(options));
}

}  // namespace onceward
