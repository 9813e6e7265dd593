package io.github.onceward.inbox;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;

/** An idempotency key and what came with it. Immutable. */
public final class Key {
    /** The last time that PostgreSQL and all packages of the inbox can write. */
    private static final Instant LAST = Instant.parse("9999-12-31T23:59:59Z");
    private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");

    private final byte[] bytes;
    private final UUID fingerprint;
    private final Instant mintedAt;

    private Key(byte[] bytes, UUID fingerprint, Instant mintedAt) {
        this.bytes = bytes;
        this.fingerprint = fingerprint;
        this.mintedAt = mintedAt;
    }

    /** A key of 1 to 255 bytes of UTF-8. */
    public static Key of(String text) {
        return new Key(utf8(text, "a key"), null, null);
    }

    /** A key of 1 to 255 bytes, none of which is 0. */
    public static Key of(byte[] bytes) {
        if (bytes == null) {
            throw new InboxException.Argument("a key is needed, not null");
        }
        return new Key(bytes.clone(), null, null);
    }

    /** The same key with the fingerprint of what came with it: SHA-256, cut to 16 bytes. */
    public Key fingerprint(byte[] content) {
        return fingerprint(content == null ? null : fingerprintOf(content));
    }

    /** The same key with the fingerprint of what came with it, as UTF-8. */
    public Key fingerprint(String content) {
        return fingerprint(content == null ? null : utf8(content, "what a fingerprint is made of"));
    }

    /** The same key with a fingerprint that was made elsewhere; null is none. */
    public Key fingerprint(UUID made) {
        return new Key(bytes, made, mintedAt);
    }

    /** The same key with the time when it was made, as of {@link Uuid7#mintedAt}; null is none. */
    public Key mintedAt(Instant time) {
        if (time != null && (time.isBefore(FIRST) || time.isAfter(LAST))) {
            throw new InboxException.Argument("a key was minted in one of the years 1 to 9999");
        }
        return new Key(bytes, fingerprint, time);
    }

    /** When the key was made; null if it does not say. */
    public Instant mintedAt() {
        return mintedAt;
    }

    /** Whether the database takes the key's bytes: it has 1 to 255, and none of them is 0. */
    public boolean isValid() {
        for (byte one : bytes) {
            if (one == 0) {
                return false;
            }
        }
        return bytes.length >= 1 && bytes.length <= 255;
    }

    /** The first 16 bytes of the content's SHA-256. */
    static UUID fingerprintOf(byte[] content) {
        try {
            ByteBuffer hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(content));
            return new UUID(hash.getLong(), hash.getLong());
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // each JDK has it
        }
    }

    /** DANGER: getBytes() would write `?` for half of a surrogate pair; two keys would be one. */
    static byte[] utf8(String text, String what) {
        if (text == null) {
            throw new InboxException.Argument(what + " is missing");
        }
        try {
            ByteBuffer made = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[made.remaining()];
            made.get(bytes);
            return bytes;
        } catch (CharacterCodingException error) {
            throw new InboxException.Argument(what + " is not valid Unicode");
        }
    }

    byte[] bytes() {
        return bytes;
    }

    UUID fingerprint() {
        return fingerprint;
    }

    /** The time as a text, which all drivers can send, to a microsecond, as PostgreSQL has it. */
    String minted() {
        return mintedAt == null ? null
            : mintedAt.truncatedTo(ChronoUnit.MICROS).toString();
    }
}
