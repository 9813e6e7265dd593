-- Who acts by hand in this session, for record_act().
SELECT set_config('onceward.actor', $1, false)
