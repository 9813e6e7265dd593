SELECT count(*) FROM onceward.fences WHERE epoch > 0
