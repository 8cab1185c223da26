# The API (the default), the worker (docker run IMAGE /worker) and the operators' tool (docker run IMAGE /seatctl) in one
# small image. The target "development", the last, builds them from source. The target "release" takes those of a release from
# the folders linux/amd64 and linux/arm64 of its context: .goreleaser.yaml.
FROM --platform=$BUILDPLATFORM golang:1.26 AS go

FROM scratch AS base
COPY --from=go /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
CMD ["/api"]

FROM base AS release
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/api $TARGETPLATFORM/worker $TARGETPLATFORM/seatctl /

FROM go AS build
WORKDIR /src
COPY go.mod go.sum go.work ./
COPY client/go.mod client/go.sum client/
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/api ./cmd/worker ./cmd/seatctl

FROM base AS development
COPY --from=build /out/api /out/worker /out/seatctl /
