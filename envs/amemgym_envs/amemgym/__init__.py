"""AMemGym: scenarios, their generator, the scripted user and the environment."""
