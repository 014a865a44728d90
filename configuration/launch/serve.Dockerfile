# docker build -f configuration/launch/serve.Dockerfile -t glossa-serve .
# docker compose -f configuration/launch/serve.compose.yaml up
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 glossa && mkdir /cache && chown 1000 /cache
COPY . /glossa
# The build of torch for CPUs; without --extra-index-url it is the one for GPUs, gigabytes larger.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -c /glossa/constraints.txt \
    "/glossa[documents,engine,serve]"
USER 1000
# Exported engines, and models from the Hub; a volume, since the rest of the container may be read-only.
ENV HF_HOME=/cache
EXPOSE 5000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/health', timeout=4)"]
ENTRYPOINT ["glossa", "serve", "--host", "0.0.0.0"]
CMD ["--help"]
