"""The Locust side: users, devices, the one-attempt client, the op log, the lifecycle of a run."""
