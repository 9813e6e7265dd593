-- What the current role lacks of schemas/roles/worker.sql: one row for each privilege.
SELECT wanted.privilege || ' on {schema}.' || wanted.name
FROM (VALUES ('SELECT', 'schema_migrations'), ('SELECT', 'generations'),
    ('SELECT', 'topic_pauses'), ('SELECT', 'evictions'),
    ('SELECT', 'imports'), ('INSERT', 'imports'), ('UPDATE', 'imports'),
    ('SELECT', 'leases'), ('INSERT', 'leases'), ('UPDATE', 'leases'),
    ('SELECT', 'fences'), ('INSERT', 'fences'), ('UPDATE', 'fences'),
    ('SELECT', 'ledgers'), ('INSERT', 'ledgers'), ('UPDATE', 'ledgers'),
    ('SELECT', 'ledger_feeds'), ('INSERT', 'ledger_feeds'), ('UPDATE', 'ledger_feeds'),
    ('SELECT', 'partition_suspects'), ('INSERT', 'partition_suspects'),
    ('UPDATE', 'partition_suspects'),
    ('SELECT', 'claims'), ('INSERT', 'claims'),
    ('SELECT', 'dead_letters'), ('INSERT', 'dead_letters'),
    ('SELECT', 'outbox'), ('INSERT', 'outbox'),
    ('SELECT', 'skipped_ranges'), ('INSERT', 'skipped_ranges'),
    ('SELECT', 'fence_moves'), ('INSERT', 'fence_moves'),
    ('SELECT', 'replays'), ('INSERT', 'replays')) AS wanted (privilege, name)
WHERE NOT has_table_privilege('{schema}.' || wanted.name, wanted.privilege)
UNION ALL
SELECT 'EXECUTE on {schema}.' || wanted.name
FROM (VALUES ('rotate_ledger(integer, bigint)'), ('ledger_watermark(integer)'),
    ('unlist_expired(integer)'), ('drop_generation(integer, bigint)'),
    ('orphaned_generations(integer)'), ('begin_results(integer)'),
    ('remove_sent(text, text[], bigint[], uuid[])'),
    ('delete_ended_leases(integer, integer)'), ('finish_replay(bigint)'),
    ('end_replay(bigint)'), ('clock_skew(interval)')) AS wanted (name)
WHERE NOT has_function_privilege('{schema}.' || wanted.name, 'EXECUTE')
