# Gatehouse in a container: no build step, the sources run as they are.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

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
COPY bin ./bin
COPY src ./src
RUN install -d -m 0700 -o node -g node /var/lib/gatehouse && ln -s /app/bin/gatehouse.js /usr/local/bin/gatehouse
USER node
VOLUME /var/lib/gatehouse
EXPOSE 5080 9464
# A stop drains: give it longer than GATEHOUSE_STREAM_DRAIN_TIME.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD node -e "fetch('http://127.0.0.1:5080/readyz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["node", "/app/bin/gatehouse.js"]
CMD ["serve"]
