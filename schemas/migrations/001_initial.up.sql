-- The fence of each partition of each consumer group: where the next transaction must begin, and
-- whose it is.
CREATE TABLE {schema}.fences (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    incarnation uuid NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    owner uuid NOT NULL,
    owner_name text NOT NULL DEFAULT '',
    first_offset bigint NOT NULL,
    next_offset bigint NOT NULL,
    leader_epoch integer NOT NULL DEFAULT -1,
    cluster_id text NOT NULL DEFAULT '',
    topic_id text NOT NULL DEFAULT '',
    ledger integer,
    watermark timestamptz,
    applied bigint NOT NULL DEFAULT 0,
    duplicates bigint NOT NULL DEFAULT 0,
    conflicts bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    taken_at timestamptz NOT NULL DEFAULT now(),
    moved_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz,
    CONSTRAINT fences_key PRIMARY KEY (consumer_group, topic, partition),
    CONSTRAINT fences_partition_natural CHECK (partition >= 0),
    CONSTRAINT fences_offset_natural CHECK (next_offset >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE {schema}.fences IS
    'A chain: a transaction moves next_offset only from where its reading began, as its owner.';
COMMENT ON COLUMN {schema}.fences.incarnation IS
    'Random id of the row, new when it is made or adopts another topic id; names its dead letters.';
COMMENT ON COLUMN {schema}.fences.epoch IS
    'Counts take-overs, for people. After a fail-over two may hold the same one; owner decides.';
COMMENT ON COLUMN {schema}.fences.watermark IS
    'Every message that the log held at this time has been passed; retention counts from it.';
COMMENT ON COLUMN {schema}.fences.retired_at IS
    'Set by `onceward groups retire`: holds retention back no longer, and no worker may take it.';

-- Ledgers: sets of claims with one retention, one store and one reach.
CREATE TABLE {schema}.ledgers (
    ledger integer GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    store text NOT NULL,
    reach text NOT NULL,
    retention interval NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ledgers_key PRIMARY KEY (ledger),
    CONSTRAINT ledgers_name_unique UNIQUE (name),
    CONSTRAINT ledgers_store_known CHECK (store IN ('table', 'log', 'lease')),
    CONSTRAINT ledgers_reach_known CHECK (reach IN ('global', 'partition'))
);
ALTER TABLE {schema}.fences ADD CONSTRAINT fences_ledger FOREIGN KEY (ledger)
    REFERENCES {schema}.ledgers (ledger);

-- The topics that feed a ledger. The list of a topic's partitions is a sample as well (its time,
-- then the metadata).
CREATE TABLE {schema}.ledger_feeds (
    ledger integer NOT NULL,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    source integer GENERATED ALWAYS AS IDENTITY,
    partitions integer,
    watermark timestamptz,
    retired_at timestamptz,
    CONSTRAINT ledger_feeds_key PRIMARY KEY (ledger, consumer_group, topic),
    CONSTRAINT ledger_feeds_source_unique UNIQUE (source),
    CONSTRAINT ledger_feeds_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger)
);
COMMENT ON COLUMN {schema}.ledger_feeds.source IS
    'Short name of (group, topic) in the claims'' rows.';
COMMENT ON COLUMN {schema}.ledger_feeds.watermark IS
    'When the list of partitions was last known; one more watermark that holds retention back.';
COMMENT ON COLUMN {schema}.ledger_feeds.retired_at IS
    'Set by `onceward groups retire`: the topic feeds the ledger no longer.';

-- Generations of the table store. Exactly one of a ledger is current; sealed ones are immutable.
CREATE TABLE {schema}.generations (
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    created_at timestamptz NOT NULL,
    sealed_at timestamptz,
    CONSTRAINT generations_key PRIMARY KEY (ledger, generation),
    CONSTRAINT generations_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT generations_sealed_later CHECK (sealed_at >= created_at)
);
CREATE UNIQUE INDEX generations_one_current ON {schema}.generations (ledger)
    WHERE sealed_at IS NULL;

-- Every generation is a table of its own, made LIKE this one, with the same grants.
CREATE TABLE {schema}.claims (
    digest uuid NOT NULL,
    fingerprint uuid,
    record_offset bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    partition integer NOT NULL,
    source integer NOT NULL,
    CONSTRAINT claims_never_here CHECK (false) NO INHERIT
);
COMMENT ON TABLE {schema}.claims IS
    'Pattern and grants of the tables claims_<ledger>_<generation>; always empty itself.';

CREATE TABLE {schema}.dead_letters (
    dead_letter bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    identity text NOT NULL,
    partition integer NOT NULL,
    record_offset bigint NOT NULL,
    record_timestamp timestamptz,
    record_key bytea,
    headers jsonb NOT NULL DEFAULT '[]',
    payload bytea,
    key_text bytea,
    digest uuid,
    error_class text NOT NULL,
    sqlstate text NOT NULL DEFAULT '',
    reason text NOT NULL,
    attempts integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT dead_letters_key PRIMARY KEY (dead_letter),
    CONSTRAINT dead_letters_once UNIQUE (consumer_group, topic, identity, partition, record_offset)
);
COMMENT ON COLUMN {schema}.dead_letters.identity IS
    'The topic''s id, else its fence''s incarnation: a topic made again is not its namesake.';
COMMENT ON COLUMN {schema}.dead_letters.headers IS
    'In the record''s order: [{"name": text, "value": base64 or null}, ...]; "name_base64" where '
    'the name is not UTF-8.';

-- Offsets that were passed without being read, always with a reason. Nothing is skipped without a
-- row here.
CREATE TABLE {schema}.skipped_ranges (
    skipped_range bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    begin_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    reason text NOT NULL,
    skipped_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT skipped_ranges_key PRIMARY KEY (skipped_range)
);
