#include "gateway/requests/keyed_request.h"

namespace onceward {

void RequestTarget::look(std::size_t, const Digest&, std::function<void(StatusOutcome)> then) {
    then(ask_again_later());
}

}  // namespace onceward
