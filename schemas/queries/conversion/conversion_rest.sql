-- How many claims of the open generation the switch of this session found.
SELECT current_setting('onceward.converted')::bigint
