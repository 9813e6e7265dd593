-- The functions that were written for each ledger come first: no list here can name them.
DROP TRIGGER generations_results_inbox ON {schema}.generations;
DO $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT c.oid::regclass AS name
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE t.tgname = 'claims_result_required' AND c.relnamespace = (SELECT n.relnamespace
            FROM pg_class n WHERE n.oid = '{schema}.ledgers'::regclass)
    LOOP
        EXECUTE format('DROP TRIGGER claims_result_required ON %s', made.name);
    END LOOP;
    FOR made IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.proname ~ '^inbox_(claim|claims|earlier|finish|check)_[0-9]'
            AND p.pronamespace = (SELECT n.relnamespace FROM pg_class n
                WHERE n.oid = '{schema}.ledgers'::regclass)
    LOOP
        EXECUTE format('DROP FUNCTION %s', made.name);
    END LOOP;
END
$$;
DROP FUNCTION {schema}.revoke_inbox, {schema}.grant_inbox,
    {schema}.forget(text, text, text, bytea, text, text),
    {schema}.forget(text, text, text, text, text, text),
    {schema}.holders_text, {schema}.holders, {schema}.expire, {schema}.release_lease,
    {schema}.extend_lease, {schema}.end_lease, {schema}.lease_result,
    {schema}.lease(text, text, text, bytea, uuid, uuid, text, interval, boolean, timestamptz),
    {schema}.lease(text, text, text, text, uuid, uuid, text, interval, boolean, timestamptz),
    {schema}.finish_many,
    {schema}.claim_many(text, text, text, bytea[], uuid[], uuid, text, timestamptz[], bigint),
    {schema}.claim_many(text, text, text, text[], uuid[], uuid, text, timestamptz[], bigint),
    {schema}.claim_taken_out, {schema}.require_ledger, {schema}.inbox_of, {schema}.bound_waits,
    {schema}.register_ledger,
    {schema}.finish,
    {schema}.claim(text, text, text, bytea, uuid, uuid, text, timestamptz),
    {schema}.claim(text, text, text, text, uuid, uuid, text, timestamptz),
    {schema}.write_inbox_entries, {schema}.inbox_of_generations, {schema}.write_inbox,
    {schema}.inbox_check_text, {schema}.inbox_finish_text, {schema}.inbox_claims_text,
    {schema}.inbox_earlier_text, {schema}.inbox_known_text, {schema}.inbox_claim_text,
    {schema}.inbox_open_text, {schema}.inbox_allowed_text,
    {schema}.is_late, {schema}.result_size, {schema}.refuse_result, {schema}.refuse_ledger,
    {schema}.refuse_claim, {schema}.require_inbox, {schema}.may_use_inbox, {schema}.downstream_key,
    {schema}.stamped, {schema}.fingerprint, {schema}.key_digest(text, text, text, text),
    {schema}.key_digest(text, text, text, bytea), {schema}.is_key, {schema}.inbox_version;
DROP VIEW {schema}.inboxes;
DROP TYPE {schema}.lease_answer, {schema}.claim_answer;
DROP TABLE {schema}.inbox_grants;
ALTER TABLE {schema}.ledgers DROP COLUMN max_result_bytes;
COMMENT ON COLUMN {schema}.claims.record_offset IS NULL;
