"""An agent of the Agent Client Protocol (https://agentclientprotocol.com), as Zed and its like start one.

Needs the extra ``acp``. `micro_agent.doors.acp.serving.serve` talks with an editor; docs/acp.md tells how it is used.
"""
