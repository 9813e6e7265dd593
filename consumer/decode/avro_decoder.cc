#include "consumer/decode/avro_decoder.h"

namespace onceward {
void check_avro_paths(const FormatOptions&, const std::vector<std::string>&) {}
std::unique_ptr<Decoder> make_avro_decoder(const WrittenSchema&, const FormatOptions&,
                                           const std::vector<std::string>&) {
    throw FormatError("Avro is not read yet");
}
}  // namespace onceward
