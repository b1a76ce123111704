# Gatehouse in a container. The console and the bundle of the server are built; there is no other build.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
RUN npm ci --omit=dev --no-audit --no-fund
RUN node --input-type=module -e "import { buildConsole } from './packages/console/build.js'; await buildConsole()" \
  && node --input-type=module -e "import { buildServer } from './packages/server/build.js'; await buildServer()"
# What the server needs to run, without what the console and the builds need.
RUN npm ci --omit=dev --no-audit --no-fund --workspace gatehouse-server

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    GATEHOUSE_HOST=0.0.0.0 \
    GATEHOUSE_PORT=5080 \
    GATEHOUSE_DATA=/var/lib/gatehouse \
    GATEHOUSE_METRICS_HOST=0.0.0.0 \
    GATEHOUSE_METRICS_PORT=9464
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY --from=packages /app/packages ./packages
COPY docs ./docs
COPY CHANGELOG.md ./
RUN install -d -m 0700 -o node -g node /var/lib/gatehouse && ln -s /app/packages/server/bin/gatehouse.js /usr/local/bin/gatehouse
USER node
VOLUME /var/lib/gatehouse
EXPOSE 5080 9464
# Stopping waits for load balancers and drains streams: allow longer than GATEHOUSE_STOP_DELAY, GATEHOUSE_STREAM_DRAIN_TIME and 20 s
# together.
STOPSIGNAL SIGTERM
# Alive, not ready: a node whose database is away must not be restarted for it. "gatehouse health --ready" asks for that.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s \
  CMD ["node", "/app/packages/server/bin/gatehouse.js", "health"]
ENTRYPOINT ["node", "/app/packages/server/bin/gatehouse.js"]
CMD ["serve"]
