package io.github.onceward.inbox;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

/**
 * The answer to a request for a lease. Status, headers, body and time are those of the stored
 * result; without one they are null, and the headers are empty.
 *
 * @param downstreamKey the key for the other system, the same for each call of the effect
 * @param attempts how many leases the key had
 * @param takenOver whether an earlier lease ran out and its call may have happened
 * @param remaining how long the lease is still held; null if it is not
 */
public record Lease(Outcome outcome, UUID digest, UUID attempt, UUID downstreamKey,
        Integer attempts, boolean takenOver, Duration remaining, Integer status,
        List<Header> headers, byte[] body, OffsetDateTime endedAt) {
    /** Whether the lease is the caller's: commit, make the call, and end the lease. */
    public boolean fresh() {
        return outcome == Outcome.FRESH;
    }
}
