# The API (the default), the worker (docker run IMAGE /worker) and the operators' tool
# (docker run IMAGE /seatctl) in one small image. A release's image: --build-arg VERSION=v1.2.0
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum go.work ./
COPY client/go.mod client/go.sum client/
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X github.com/holdfast-dev/holdfast/internal/telemetry.release=$VERSION" -o /out/ ./cmd/api ./cmd/worker ./cmd/seatctl

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/api /out/worker /out/seatctl /
USER 65532:65532
CMD ["/api"]
