ALTER TABLE {schema}.skipped_ranges DROP COLUMN skipped_by;
DROP TABLE {schema}.fence_moves;
