#include "consumer/partitions/read_attempts.h"

namespace onceward {

ReadAttempts::Verdict ReadAttempts::failed(Offset offset) {
    if (offset_ != offset) tries_ = 0;
    offset_ = offset;
    return ++tries_ < at_most ? Verdict::again : Verdict::halt;
}

}  // namespace onceward
