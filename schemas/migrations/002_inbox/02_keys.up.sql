-- Digests and fingerprints, as workers, routes and once() compute them.

-- What can be a key. PostgreSQL puts the condition in the place of the call.
CREATE FUNCTION {schema}.is_key(key bytea) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (octet_length(key) BETWEEN 1 AND 255 AND position('\x00'::bytea IN key) = 0) IS TRUE
$$;

-- SHA-256 of operation, tenant, kind and key, each after its length in eight bytes, cut to 16
-- bytes.
CREATE FUNCTION {schema}.key_digest(operation text, tenant text, kind text, key bytea) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(substr(sha256(
        int8send(octet_length(operation)) || convert_to(operation, 'UTF8')
        || int8send(octet_length(tenant)) || convert_to(tenant, 'UTF8')
        || int8send(octet_length(kind)) || convert_to(kind, 'UTF8')
        || int8send(octet_length(key)) || key), 1, 16), 'hex')::uuid
$$;
CREATE FUNCTION {schema}.key_digest(operation text, tenant text, kind text, key text) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.key_digest(operation, tenant, kind, convert_to(key, 'UTF8'))
$$;

-- A fingerprint of what the key came with: a claim of the same key with another one is a conflict.
CREATE FUNCTION {schema}.fingerprint(content bytea) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(substr(sha256(content), 1, 16), 'hex')::uuid
$$;

-- The time that a key was minted joins its fingerprint: the same key with another time is a
-- conflict.
CREATE FUNCTION {schema}.stamped(fingerprint uuid, minted_at timestamptz) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN minted_at IS NULL THEN fingerprint ELSE {schema}.fingerprint(
        coalesce(uuid_send(fingerprint), '') ||
        int8send((extract(epoch FROM minted_at) * 1000000)::bigint)) END
$$;

-- The key for another system, made from ours: the same for each call of the effect, and the one
-- that webhooks and upstreams get. A UUID of version 5 in form (RFC 9562).
CREATE FUNCTION {schema}.downstream_key(digest uuid) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(set_byte(set_byte(made.bytes, 6, get_byte(made.bytes, 6) & 15 | 80),
        8, get_byte(made.bytes, 8) & 63 | 128), 'hex')::uuid
    FROM (SELECT substr(sha256(convert_to('onceward downstream key' || chr(10), 'UTF8')
        || uuid_send(digest)), 1, 16) AS bytes) AS made
$$;
