package io.github.onceward.inbox;

import java.security.SecureRandom;
import java.time.Instant;
import java.util.Optional;
import java.util.UUID;

/** UUIDs of version 7 (RFC 9562): keys that say when they were made. */
public final class Uuid7 {
    private static final SecureRandom DICE = new SecureRandom();

    private Uuid7() {}

    /** A new key of the current time. */
    public static UUID next() {
        long high = System.currentTimeMillis() << 16 | 0x7000 | DICE.nextInt(1 << 12);
        return new UUID(high, DICE.nextLong() & -1L >>> 2 | 1L << 63);
    }

    /** When a key was made, to a millisecond; empty if it is no UUID of version 7. */
    public static Optional<Instant> mintedAt(String key) {
        // UUID.fromString() alone takes shortened groups.
        if (key == null || !key.matches("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")) {
            return Optional.empty();
        }
        UUID uuid = UUID.fromString(key);
        return uuid.version() == 7 && uuid.variant() == 2
            ? Optional.of(Instant.ofEpochMilli(uuid.getMostSignificantBits() >>> 16))
            : Optional.empty();
    }
}
