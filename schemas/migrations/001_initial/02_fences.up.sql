-- The fence of each partition of each consumer group: where the next transaction must begin, and
-- which owner may make it.
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
    CONSTRAINT fences_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT fences_partition_natural CHECK (partition >= 0),
    CONSTRAINT fences_offset_natural CHECK (next_offset >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE {schema}.fences IS
    'A chain: a transaction moves next_offset only from where its reading began, as its owner.';
COMMENT ON COLUMN {schema}.fences.incarnation IS
    'A random id, new when the row is made or adopts another topic id; names its dead letters.';
COMMENT ON COLUMN {schema}.fences.epoch IS
    'Counts take-overs, for people. After a fail-over two may hold the same one; owner decides.';
COMMENT ON COLUMN {schema}.fences.watermark IS
    'Every message that the log held at this time has been passed; retention counts from it.';
COMMENT ON COLUMN {schema}.fences.retired_at IS
    'Set by `onceward groups retire`: holds retention back no longer, and no worker may take it.';

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
    skipped_by text DEFAULT session_user,
    CONSTRAINT skipped_ranges_key PRIMARY KEY (skipped_range)
);
COMMENT ON COLUMN {schema}.skipped_ranges.skipped_by IS
    'The role: a worker''s for on_out_of_range, else an operator''s.';

-- Each move of a fence by hand (`onceward offsets --set`, `offsets skip`): where from and to, why,
-- and which role asked for it. What a move passes unread is in skipped_ranges too.
CREATE TABLE {schema}.fence_moves (
    fence_move bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    from_offset bigint,
    to_offset bigint NOT NULL,
    new_log boolean NOT NULL,
    reason text NOT NULL,
    moved_by text NOT NULL DEFAULT session_user,
    moved_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT fence_moves_key PRIMARY KEY (fence_move),
    CONSTRAINT fence_moves_reason_said CHECK (reason <> '')
);
COMMENT ON COLUMN {schema}.fence_moves.from_offset IS 'Null: there was no fence.';
COMMENT ON COLUMN {schema}.fence_moves.new_log IS
    'The topic was recreated, and the fence counts in its new log from here on.';

-- What a worker was most likely fetching when its process ran out of memory. While the fence stands
-- at `next_offset` the partition halts instead of being read; an operator clears the row.
CREATE TABLE {schema}.partition_suspects (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    next_offset bigint NOT NULL,
    resident_bytes bigint NOT NULL,
    budget_bytes bigint NOT NULL,
    suspected_at timestamptz NOT NULL DEFAULT now(),
    cleared_at timestamptz,
    CONSTRAINT partition_suspects_key PRIMARY KEY (consumer_group, topic, partition)
);
