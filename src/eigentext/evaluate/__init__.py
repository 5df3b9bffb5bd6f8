"""Pure metrics, which learners may call."""
