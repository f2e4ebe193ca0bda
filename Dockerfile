# Debian, not Alpine: the Temporal SDK's native core is not built for musl.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages packages
# Without the packages of the tests, which are the workspace `test`.
RUN npm ci --include=dev --no-audit --no-fund --workspace @fanfare/email-layout --include-workspace-root
COPY tsconfig.json ./
COPY src src
COPY workflows workflows
COPY activities activities
COPY workers workers
COPY console console
COPY scripts/compile.mjs scripts/sbom.mjs scripts/shipped-packages.mjs scripts/
RUN node scripts/compile.mjs src workflows activities workers \
  && node dist/workers/bundle.js \
  && node packages/email-layout/build.mjs \
  && node node_modules/vite/bin/vite.js build --config console/vite.config.mjs \
  && node scripts/sbom.mjs
# The native core comes for five platforms of 25 to 30 MB each; this image is one of them.
RUN npm prune --omit=dev --no-audit --no-fund \
  && case "$(uname -m)" in x86_64) keep=x86_64-unknown-linux-gnu ;; *) keep=aarch64-unknown-linux-gnu ;; esac \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$keep" -exec rm -r {} +

FROM node:24-bookworm-slim
# Certificates for TLS to a Temporal server; Node brings its own, the native core uses the system's.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=node --group=node --mode=0700 /data
WORKDIR /app
# Room for young objects: a request's live until its insert is committed (docs/benchmarks.md).
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 NODE_OPTIONS="--max-semi-space-size=32 --max-old-space-size=2000" FANFARE_DATA_DIR=/data FANFARE_HTTP_HOST=0.0.0.0
COPY --from=build /app/package.json ./
COPY --from=build /app/packages packages
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY samples samples
USER node
VOLUME /data
EXPOSE 8080
CMD ["node", "dist/src/main.js", "serve"]
