# The image of Gatehouse: its package, one Node, and the libraries of Debian that Node needs. There is no shell.
# "npm run image" makes the same image with buildah, without a base from a registry: it takes the last stage below.
FROM node:24-bookworm-slim AS build
WORKDIR /source
COPY . .
RUN apt-get update && node scripts/image/root.ts /image

FROM scratch
COPY --from=build /image/root /
COPY --from=build --chown=1000:1000 /image/data /var/lib/
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    GATEHOUSE_HOST=0.0.0.0 \
    GATEHOUSE_PORT=5080 \
    GATEHOUSE_DATA=/var/lib/gatehouse
WORKDIR /app
USER 1000:1000
VOLUME /var/lib/gatehouse
# The second port is for metrics, where GATEHOUSE_METRICS_HOST and GATEHOUSE_METRICS_PORT open it.
EXPOSE 5080 9464
# Stopping waits for load balancers and drains streams: allow longer than GATEHOUSE_STOP_DELAY, GATEHOUSE_STREAM_DRAIN_TIME and 20 s
# together.
STOPSIGNAL SIGTERM
# Alive, not ready: a node whose database is away must not be restarted for it. "gatehouse health --ready" asks for that.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s CMD ["gatehouse", "health"]
ENTRYPOINT ["gatehouse"]
CMD ["serve"]
