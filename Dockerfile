# syntax=docker/dockerfile:1
# Storeroom as a container: the compiled program, Node, and the libraries that Node loads. No shell, no package manager.
# docs/install.md says how to run it; `npm run test:image` runs every step below without an engine.
#   docker build -t storeroom:0.3.0 --build-arg VERSION=0.3.0 .

# Any Node from 20 on installs the Node of the lockfile, which builds and ends up in the image.
FROM node:24-bookworm-slim AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends binutils libatomic1 \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY mcp/package.json mcp/
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY . .
RUN npm run build

# The root of the image: only root may change it, and only the user of the service reads /data.
RUN mkdir -p /image/opt /image/usr/local/bin /image/etc /image/tmp /image/data \
  && cp -r build/server /image/opt/storeroom \
  && cp LICENSE NOTICE /image/opt/storeroom/ \
  && strip -o /image/usr/local/bin/node "$(npm exec -- node -p process.execPath)" \
  && ldd /image/usr/local/bin/node | grep -o '/[^ ]*' | xargs cp -L --parents -t /image \
  && printf '#!/usr/local/bin/node\nimport("/opt/storeroom/main.js");\n' > /image/usr/local/bin/storeroom \
  && printf 'root:x:0:0::/:/none\nstoreroom:x:10001:10001::/data:/none\n' > /image/etc/passwd \
  && printf 'root:x:0:\nstoreroom:x:10001:\n' > /image/etc/group \
  && chmod -R u=rwX,go=rX /image \
  && chmod 755 /image/usr/local/bin/* \
  && chmod 1777 /image/tmp \
  && chown 10001:10001 /image/data \
  && chmod 700 /image/data

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Storeroom" \
  org.opencontainers.image.description="A self-hosted HTTP API for a retailer's orders, customers and stock" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
COPY --from=build /image /
COPY --from=build --chown=10001:10001 /image/data /data
ENV PATH=/usr/local/bin \
  STOREROOM_DATA=/data \
  STOREROOM_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --start-interval=1s CMD ["storeroom", "health"]
ENTRYPOINT ["storeroom"]
CMD ["serve"]
