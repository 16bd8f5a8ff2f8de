"""How runs outlive their process: journals, records, the decisions of people, and the lines that all of them are.

`micro_agent.traces.TraceStore` is the door to it; docs/design/durability.md tells what holds after a kill.
"""
