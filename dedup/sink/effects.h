#pragma once
// Effects outside PostgreSQL, such as HTTP calls: begun by LeaseProcessor under a lease, many at a
// time, and reported when they end. One object for each worker and topic, used by the writer's
// thread; the object decides how the effects run in the background. Nothing here throws because of
// what the other side does.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/message/message.h"
#include "dedup/sink/message_result.h"

namespace onceward {

// One try of a message's effect. DANGER: an owner that was frozen may make it after its lease has
// ended, at the same time as the new owner of the key. Only a key that is sent along, derived from
// `message`'s digest and the same on every try, protects the other side.
struct Effect {
    std::uint64_t number = 0;          // the caller's; its outcome carries it
    const Message* message = nullptr;  // outlives the try
};

struct EffectOutcome {
    // done, failed: final. again: a later try may succeed; whether this one took effect is unknown.
    enum class Kind : std::uint8_t { done, failed, again };
    std::uint64_t number = 0;
    Kind kind = Kind::again;
    MessageResult result;  // of done and failed
    // How long the other side asks to wait, if it does.
    std::optional<std::chrono::milliseconds> not_before;
    std::string reason;  // of failed and again, for people; holds no payload and no secret
};

// How an HTTP call ended.
struct HttpAnswer {
    // 0: no complete answer came. Then `failure` says why, without text of the request.
    int status = 0;
    // Whether any of the request was sent: if not, it surely has had no effect.
    bool carried = false;
    bool too_large = false;  // the body was cut off and is not here
    ResultHeaders headers{};
    std::string body{};
    std::string failure{};
    std::uint64_t number = 0;  // the call's, if a client has several under way
};

class Effects {
  public:
    virtual ~Effects() = default;
    // How many may be under way at once.
    virtual std::size_t concurrency() const = 0;
    // The longest that one try takes.
    virtual std::chrono::milliseconds longest() const = 0;
    // REQUIRES: fewer than concurrency() are under way.
    virtual void begin(const Effect& effect) = 0;
    // Waits until one has ended, at most for `most`, also if none is under way. Each outcome is
    // reported once.
    virtual std::vector<EffectOutcome> wait(std::chrono::milliseconds most) = 0;
    // Aborts the try; its outcome is never reported. It may have taken effect.
    virtual void cancel(std::uint64_t number) = 0;
};

// How an attempt that may succeed later is repeated while its lease is held.
struct EffectRetries {
    // How often in a row; after that the key is released and its partition waits.
    int attempts = 3;
    // The pause before the first of them; doubled each time.
    std::chrono::milliseconds backoff{500};
};

// How long to wait before the next try, without jitter. nullopt: do not hold the lease for it.
// `tried`: how often it was tried again in this lease; `asked`: EffectOutcome::not_before. Pure.
std::optional<std::chrono::milliseconds> next_try(
    const EffectRetries& retries, int tried, const std::optional<std::chrono::milliseconds>& asked,
    std::chrono::milliseconds lease);

}  // namespace onceward
