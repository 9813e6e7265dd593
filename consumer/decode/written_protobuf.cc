#include "consumer/decode/written_protobuf.h"

namespace onceward {
void check_written_protobuf(const FormatOptions&) {}
std::unique_ptr<Decoder> make_written_protobuf(const WrittenSchema&, std::vector<std::string>) {
    throw FormatError("Protobuf by a registry's schema is not read yet");
}
}  // namespace onceward
