"""What a coach of the coding agent says, each rule in a file of its own; all read the steps of a run by `work_of`."""
