"""Tasks in a repository: made when a task is asked, worked on by the coding agent, judged by what it left."""
