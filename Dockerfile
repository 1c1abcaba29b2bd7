# An image for `holdfast launch vertex|kubernetes`, and for `docker run`:
#   docker build -t holdfast .                                  CPU
#   docker build -t holdfast --build-arg EXTRAS=jax,cloud --build-arg MORE="jax[cuda13]" .   GPU on JAX
FROM python:3.11-slim
ARG EXTRAS=jax,cloud
ARG MORE=
RUN useradd --create-home trainer
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir ".[${EXTRAS}]" ${MORE}
USER trainer
WORKDIR /home/trainer
# SIGTERM goes to `holdfast`, which has all processes save at the same step and end.
STOPSIGNAL SIGTERM
ENTRYPOINT []
CMD ["holdfast", "--help"]
