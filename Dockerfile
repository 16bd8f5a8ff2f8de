# The image of micro-agent: `serve` and the other commands, as a user without rights. docs/container.md shows its use.
#     podman build --format docker -t micro-agent .
# BASE is any image with Python 3.11 or newer and pip as `python`, and a shell. What it installs is pinned by hash.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS built
WORKDIR /source
COPY requirements-build.txt requirements-image.txt ./
RUN python -m pip install --no-cache-dir --no-compile --no-deps --require-hashes --target /build -r requirements-build.txt \
    && python -m venv --without-pip /opt/micro-agent \
    && /build/bin/uv pip install --python /opt/micro-agent/bin/python --no-cache --no-deps --require-hashes \
        -r requirements-image.txt
COPY pyproject.toml README.md LICENSE ./
COPY evals evals
COPY micro_agent micro_agent
# The imports compile what every start needs. That is a tenth of all modules; most of the others are never imported.
RUN PYTHONPATH=/build python -m hatchling build -t wheel -d /wheel \
    && /build/bin/uv pip install --python /opt/micro-agent/bin/python --no-cache --no-deps --no-index /wheel/*.whl \
    && mkdir -p /data/traces /data/state \
    && cd / && /opt/micro-agent/bin/python -m compileall -q /opt/micro-agent/lib/python3.*/site-packages/micro_agent \
    && LITELLM_LOCAL_MODEL_COST_MAP=true /opt/micro-agent/bin/python -c "import dspy, httpcore, httpx, litellm, numpy; \
import prompt_toolkit, uvicorn, micro_agent.server.app, micro_agent.server.serve"

FROM ${BASE}
LABEL org.opencontainers.image.title="micro-agent" \
      org.opencontainers.image.description="A local-first agent for weak models, over HTTP and on the command line" \
      org.opencontainers.image.licenses="MIT"
COPY --from=built /opt/micro-agent /opt/micro-agent
# A number, since BASE may have no names of users. A new volume takes its owner from this folder.
COPY --from=built --chown=10001:10001 /data /data
ENV PATH=/opt/micro-agent/bin:$PATH \
    HOME=/data \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TRACES_DIR=/data/traces \
    MICRO_AGENT_STATE_DIR=/data/state \
    MICRO_AGENT_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000 8100
# Whether it answers at all: /healthz takes no token. No client of HTTP that a proxy in the environment could divert.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", \
    "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('MICRO_AGENT_PORT', 8000)), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["micro-agent"]
CMD ["serve"]
