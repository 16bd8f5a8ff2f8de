"""The HTTP API: `micro_agent.server.app.create_app` makes it from a pool of runs, a store of traces and settings.

Needs the extra ``server`` (FastAPI, uvicorn). docs/server.md tells how it is used.
"""
