package io.github.onceward.inbox;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Type;

/** Values as JSON, by Jackson (an optional dependency). All languages' packages store JSON. */
public final class JsonCodec<T> implements Codec<T> {
    // Results outlive the release that stored them, so members that are new or gone are no error.
    private static final class Shared {
        static final ObjectMapper MAPPER = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
    }

    private final ObjectMapper mapper;
    private final JavaType type;

    public JsonCodec(ObjectMapper mapper, Type type) {
        this.mapper = mapper;
        this.type = mapper.constructType(type);
    }

    public static <T> JsonCodec<T> of(Class<T> type) {
        return new JsonCodec<>(Shared.MAPPER, type);
    }

    /** For a type such as List&lt;Charge&gt;. The caller says which T it is. */
    public static <T> JsonCodec<T> of(Type type) {
        return new JsonCodec<>(Shared.MAPPER, type);
    }

    @Override
    public byte[] encode(T value) {
        try {
            return mapper.writeValueAsBytes(value);
        } catch (IOException error) {
            throw new UncheckedIOException("the value cannot be stored as JSON", error);
        }
    }

    @Override
    public T decode(byte[] body) {
        try {
            return body.length == 0 ? null : mapper.readValue(body, type);
        } catch (IOException error) {
            throw new UncheckedIOException("the key's stored result is no " + type, error);
        }
    }
}
