# Godwit in a container: the Debian package, built and installed. compose.yaml runs it with PostgreSQL and a bucket.
FROM node:26-bookworm AS build
WORKDIR /src
COPY . .
RUN npm ci && npm run package -- --output /package

FROM debian:bookworm-slim
COPY --from=build /package/ /package/
RUN apt-get update \
	&& apt-get install --yes --no-install-recommends /package/godwit_*.deb ca-certificates tini \
	&& rm -rf /package /var/lib/apt/lists/*
# Settings come from the environment; the configuration file of the package is for installations without a container.
RUN rm /etc/godwit/config
ENV GODWIT_DATA=/var/lib/godwit GODWIT_LISTEN=0.0.0.0:3000
USER godwit
VOLUME /var/lib/godwit
EXPOSE 3000
# Only for `serve`; the worker of compose.yaml turns it off.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
	CMD ["/usr/lib/godwit/node_modules/.bin/node", "-e", "fetch('http://127.0.0.1:3000/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# An init process must reap orphaned processes; Godwit does not.
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/bin/godwit"]
CMD ["serve"]
