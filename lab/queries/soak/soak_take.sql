SELECT soak_take()
