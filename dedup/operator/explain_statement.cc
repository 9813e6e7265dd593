#include "dedup/operator/explain_statement.h"

#include "schemas/queries.h"

namespace onceward {

std::string_view explain_statement(std::string_view kept) {
    if (kept == "log") return sql::explain_log_claim;
    if (kept == "parts") return sql::explain_parts_claim;
    if (kept == "segment") return sql::explain_segment_claim;
    return sql::explain_claim;
}

}  // namespace onceward
