#pragma once
// A sink for code that needs a message's key and nothing of its payload: it asks for no field and
// writes nothing. Stateless.

#include "dedup/sink/sink.h"

namespace onceward {

class KeysAlone final : public Sink {
  public:
    void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}
};

}  // namespace onceward
