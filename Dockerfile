# One image for the whole stack: the argument is the module to run, as in `docker run keepstep keepstep.detector`.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md ./
COPY libs libs
COPY services services
RUN python -m venv /opt/keepstep \
 && /opt/keepstep/bin/pip install --no-cache-dir --constraint constraints.txt '.[services,redis,kubernetes,notify,console,traces]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --create-home keepstep
COPY --from=build /opt/keepstep /opt/keepstep
COPY examples /opt/keepstep/examples
ENV PATH=/opt/keepstep/bin:$PATH \
    PYTHONUNBUFFERED=1
USER keepstep
WORKDIR /home/keepstep
EXPOSE 8080
ENTRYPOINT ["python", "-m"]
CMD ["keepstep.cli", "--help"]
