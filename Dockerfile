# syntax=docker/dockerfile:1
# Not built yet: there was no Docker daemon where this was written; hadolint finds nothing.
#
#   docker build -t eigentext .
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/models:/models:ro" eigentext \
#     eigentext serve --host 0.0.0.0 --model /models/english.pipe
#
# The service has no passwords but for annotators: publish the port to 127.0.0.1, as above, or put
# it behind a proxy that asks who comes (docs/reference/service.md).

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY .ci ./.ci
COPY src ./src
# what is needed, once for both stages: kernels serve the Python and the numba that compiled them
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels ".[web,postgres,parquet]" "hatchling>=1.24" \
    && python -m pip install --no-cache-dir --no-index --find-links /wheels /wheels/eigentext-*.whl /wheels/hatchling-*.whl
# our own wheel again, with kernels for processors of the kind that builds the image
RUN python .ci/kernels.py /kernels \
    && rm /wheels/eigentext-*.whl \
    && EIGENTEXT_KERNELS=/kernels python -m hatchling build -t wheel -d /wheels

FROM python:3.13-slim
LABEL org.opencontainers.image.title="eigentext" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    # what the wheel brings no kernel for, as on an x86-64 processor without AVX2, is compiled when
    # it is first needed, by the user who runs the service, and kept here
    NUMBA_CACHE_DIR=/var/cache/eigentext/numba \
    EIGENTEXT_MODELS=/models
RUN useradd --system --uid 10001 --create-home --home-dir /home/eigentext eigentext \
    && install -d -o eigentext -g eigentext /var/cache/eigentext /models /annotations
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-index --find-links /wheels "$(ls /wheels/eigentext-*.whl)[web,postgres,parquet]"
USER 10001
WORKDIR /home/eigentext
EXPOSE 8000
VOLUME ["/models", "/annotations"]
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/api/health', timeout=4)"]
# exec form: a signal to stop reaches the service, which then ends its workers
CMD ["eigentext", "serve", "--host", "0.0.0.0", "--port", "8000"]
