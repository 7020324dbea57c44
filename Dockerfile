# honestbayes as a command:
#   docker build -t honestbayes .
#   docker run --rm -v "$PWD:/data" honestbayes report table.csv --target class
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/honestbayes-*.whl)[cli,bio]" \
    && useradd --create-home --uid 10001 honest
USER 10001
# Compiled kernels are kept here, and not in the package's folder, which is not writable.
ENV NUMBA_CACHE_DIR=/home/honest/.cache/numba
WORKDIR /data
ENTRYPOINT ["honestbayes"]
CMD ["--help"]
