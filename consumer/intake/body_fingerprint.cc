#include "consumer/intake/body_fingerprint.h"

#include <memory_resource>

#include "consumer/intake/key_extractor.h"

namespace onceward {

BodyFingerprint::BodyFingerprint(const FormatOptions& format,
                                 const std::vector<std::string>& fields) {
    std::vector<std::string> paths;
    std::vector<FieldsFingerprint::Field> places;
    for (const std::string& path : fields) places.push_back({path, place_among(paths, path)});
    fields_ = FieldsFingerprint(std::move(places));
    const MutexLock lock(mutex_);
    values_.resize(paths.size());
    decoder_ = make_decoder(format, std::move(paths));
}

std::variant<Digest, std::string> BodyFingerprint::of(std::string_view body) {
    std::pmr::monotonic_buffer_resource arena;
    Message message;
    message.record.payload = body;
    const MutexLock lock(mutex_);
    Decoded decoded = decoder_->decode(message.record, values_, arena);
    if (decoded.rejection) return std::move(decoded.rejection->reason);
    fields_.take(message, values_);
    if (message.rejection) return std::move(message.rejection->reason);
    return message.fingerprint.value();
}

}  // namespace onceward
