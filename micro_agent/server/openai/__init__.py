"""The agent behind OpenAI's API: front ends and clients that speak it ask the agent as they would a model.

What they get is an answer: the agent's tools run here, and no call is ever left to the client.
"""
