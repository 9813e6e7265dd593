package io.github.onceward.inbox;

import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/** How a value becomes the stored body of a key's result, and is read again. */
public interface Codec<T> {
    byte[] encode(T value);

    /** An empty body is there if another program stored a status alone. */
    T decode(byte[] body);

    /** The value is the body. */
    static Codec<byte[]> bytes() {
        return of(Function.identity(), Function.identity());
    }

    /** The value is the body's text in UTF-8, such as JSON that was made elsewhere. */
    static Codec<String> text() {
        return of(text -> Key.utf8(text, "the value"),
            body -> new String(body, StandardCharsets.UTF_8));
    }

    /** There is no value: the function returns null. */
    static Codec<Void> none() {
        return of(nothing -> new byte[0], body -> null);
    }

    static <T> Codec<T> of(Function<T, byte[]> encode, Function<byte[], T> decode) {
        return new Codec<>() {
            @Override
            public byte[] encode(T value) {
                return encode.apply(value);
            }

            @Override
            public T decode(byte[] body) {
                return decode.apply(body);
            }
        };
    }
}
