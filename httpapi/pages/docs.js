// The page of the OpenAPI document, which Swagger UI draws. Operators' routes come last, in each part too.
const isForOperators = (operation) => Number(operation.get("path").startsWith("/api/admin/"));

window.SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null,
  defaultModelsExpandDepth: -1, showExtensions: true, showCommonExtensions: true,
  operationsSorter: (a, b) => isForOperators(a) - isForOperators(b),
});
