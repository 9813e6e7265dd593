#pragma once
// The fingerprint of chosen fields of a body that is not a record's: a request's. The same as
// that of a message with this payload. Thread-safe. Construction throws FormatError; a body without
// a fingerprint is an outcome.

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/intake/canonical_json.h"
#include "dedup/base/mutex.h"

namespace onceward {

class BodyFingerprint {
  public:
    // `fields`: paths, as for a column; they may repeat.
    BodyFingerprint(const FormatOptions& format, const std::vector<std::string>& fields);
    // The digest, or why there is none: it quotes nothing of the body.
    std::variant<Digest, std::string> of(std::string_view body);

  private:
    FieldsFingerprint fields_;
    Mutex mutex_;
    std::vector<Value> values_ ONCEWARD_GUARDED_BY(mutex_);
    std::unique_ptr<Decoder> decoder_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
