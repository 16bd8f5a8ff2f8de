"""Who asks the trials of an eval: threads of this process, or workers that are processes on any number of machines.

An executor takes trials from a `Feed` and gives back what came of them; what is written, counted and stopped is the
runner's, the same for all of them.
"""
