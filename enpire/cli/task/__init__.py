"""`enpire task ...` and `enpire new task ...`: certify a task, sign it, begin one."""
