package io.github.onceward.inbox;

import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

/**
 * The answer to a claim. Status, headers, body and time are those of the stored result; without one
 * they are null, and the headers are empty.
 *
 * @param mine whether the stored result is of this attempt, whose COMMIT had no answer
 */
public record Claim(Outcome outcome, UUID digest, UUID attempt, boolean mine, Integer status,
        List<Header> headers, byte[] body, OffsetDateTime storedAt) {
    /** Whether the key is the caller's: the effect and finish() are to follow. */
    public boolean fresh() {
        return outcome == Outcome.FRESH;
    }
}
